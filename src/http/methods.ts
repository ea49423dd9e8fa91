export const READS = ["GET", "HEAD"];

/** Whether a request with this method changes nothing. */
export const isRead = (method: string) => READS.includes(method);
