ALTER TABLE `plugins` ADD `compile_at` text;--> statement-breakpoint
CREATE INDEX `plugins_compile` ON `plugins` (`compile_at`) WHERE compile_at is not null;