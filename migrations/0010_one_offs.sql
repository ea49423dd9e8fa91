ALTER TABLE `batch_exports` ADD `one_off` integer DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX `batch_exports_one_off` ON `batch_exports` (`due_at`) WHERE one_off;