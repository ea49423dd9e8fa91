/** The credentials of the S3 server with the bucket `exports`. */
export const KEYS = {
	aws_access_key_id: "key-of-nobody",
	aws_secret_access_key: "secret-of-nobody",
};
