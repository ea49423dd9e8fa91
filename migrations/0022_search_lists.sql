-- Full-text indexes of projects, domains and invites, like those of the migration search. The rowid of a project's document is
-- its id. Others have their id as a trigram, `self`.
CREATE VIEW project_documents AS
  SELECT id, organization, text, (SELECT char(1) || group_concat(substr(text, key + 1, 1) || char(1), '') FROM json_each('[' || substr(replace(hex(zeroblob(length(text))), '00', ',0'), 2) || ']')) AS letters, name, organization_id, access_control
  FROM (
    SELECT id, char(983040 + unicode(substr(organization_id, -6, 1)) * 256 + unicode(substr(organization_id, -5, 1)), 983040 + unicode(substr(organization_id, -4, 1)) * 256 + unicode(substr(organization_id, -3, 1)), 983040 + unicode(substr(organization_id, -2, 1)) * 256 + unicode(substr(organization_id, -1, 1))) AS organization, replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(name, char(223), 'ss'), char(7838), 'ss'), char(962), char(963)), char(305), 'i'), char(304), 'i'), char(181), char(956)), char(8491), char(229)), char(8486), char(969)), char(453), char(454)), char(456), char(457)), char(459), char(460)), char(498), char(499)) AS text, name, organization_id, access_control
    FROM projects
  );
--> statement-breakpoint
CREATE VIRTUAL TABLE project_search USING fts5(organization, text, letters, name UNINDEXED, organization_id UNINDEXED, access_control UNINDEXED, detail = none, tokenize = 'trigram');
--> statement-breakpoint
CREATE TRIGGER projects_search_insert AFTER INSERT ON projects BEGIN
  INSERT INTO project_search (rowid, organization, text, letters, name, organization_id, access_control) SELECT * FROM project_documents WHERE id = new.id;
END;
--> statement-breakpoint
CREATE TRIGGER projects_search_update AFTER UPDATE OF name, access_control ON projects
  WHEN (new.name, new.access_control) <> (old.name, old.access_control) BEGIN
  DELETE FROM project_search WHERE rowid = old.id;
  INSERT INTO project_search (rowid, organization, text, letters, name, organization_id, access_control) SELECT * FROM project_documents WHERE id = new.id;
END;
--> statement-breakpoint
CREATE TRIGGER projects_search_delete AFTER DELETE ON projects BEGIN
  DELETE FROM project_search WHERE rowid = old.id;
END;
--> statement-breakpoint
INSERT INTO project_search (rowid, organization, text, letters, name, organization_id, access_control) SELECT * FROM project_documents;
--> statement-breakpoint
CREATE VIEW domain_documents AS
  SELECT organization, self, text, (SELECT char(1) || group_concat(substr(text, key + 1, 1) || char(1), '') FROM json_each('[' || substr(replace(hex(zeroblob(length(text))), '00', ',0'), 2) || ']')) AS letters, name, organization_id, id
  FROM (
    SELECT char(983040 + unicode(substr(organization_id, -6, 1)) * 256 + unicode(substr(organization_id, -5, 1)), 983040 + unicode(substr(organization_id, -4, 1)) * 256 + unicode(substr(organization_id, -3, 1)), 983040 + unicode(substr(organization_id, -2, 1)) * 256 + unicode(substr(organization_id, -1, 1))) AS organization,
      char(983040 + unicode(substr(id, -6, 1)) * 256 + unicode(substr(id, -5, 1)), 983040 + unicode(substr(id, -4, 1)) * 256 + unicode(substr(id, -3, 1)), 983040 + unicode(substr(id, -2, 1)) * 256 + unicode(substr(id, -1, 1))) AS self,
      replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(domain, char(223), 'ss'), char(7838), 'ss'), char(962), char(963)), char(305), 'i'), char(304), 'i'), char(181), char(956)), char(8491), char(229)), char(8486), char(969)), char(453), char(454)), char(456), char(457)), char(459), char(460)), char(498), char(499)) AS text,
      domain AS name, organization_id, id
    FROM domains
  );
--> statement-breakpoint
CREATE VIRTUAL TABLE domain_search USING fts5(organization, self, text, letters, name UNINDEXED, organization_id UNINDEXED, id UNINDEXED, detail = none, tokenize = 'trigram');
--> statement-breakpoint
CREATE TRIGGER domains_search_insert AFTER INSERT ON domains BEGIN
  INSERT INTO domain_search SELECT * FROM domain_documents WHERE id = new.id;
END;
--> statement-breakpoint
CREATE TRIGGER domains_search_update AFTER UPDATE OF domain ON domains WHEN new.domain <> old.domain BEGIN
  DELETE FROM domain_search WHERE rowid IN (
    SELECT rowid FROM domain_search WHERE domain_search MATCH '"' || char(983040 + unicode(substr(old.organization_id, -6, 1)) * 256 + unicode(substr(old.organization_id, -5, 1)), 983040 + unicode(substr(old.organization_id, -4, 1)) * 256 + unicode(substr(old.organization_id, -3, 1)), 983040 + unicode(substr(old.organization_id, -2, 1)) * 256 + unicode(substr(old.organization_id, -1, 1))) || '" AND "' || char(983040 + unicode(substr(old.id, -6, 1)) * 256 + unicode(substr(old.id, -5, 1)), 983040 + unicode(substr(old.id, -4, 1)) * 256 + unicode(substr(old.id, -3, 1)), 983040 + unicode(substr(old.id, -2, 1)) * 256 + unicode(substr(old.id, -1, 1))) || '"' AND id = old.id
  );
  INSERT INTO domain_search SELECT * FROM domain_documents WHERE id = new.id;
END;
--> statement-breakpoint
CREATE TRIGGER domains_search_delete AFTER DELETE ON domains BEGIN
  DELETE FROM domain_search WHERE rowid IN (
    SELECT rowid FROM domain_search WHERE domain_search MATCH '"' || char(983040 + unicode(substr(old.organization_id, -6, 1)) * 256 + unicode(substr(old.organization_id, -5, 1)), 983040 + unicode(substr(old.organization_id, -4, 1)) * 256 + unicode(substr(old.organization_id, -3, 1)), 983040 + unicode(substr(old.organization_id, -2, 1)) * 256 + unicode(substr(old.organization_id, -1, 1))) || '" AND "' || char(983040 + unicode(substr(old.id, -6, 1)) * 256 + unicode(substr(old.id, -5, 1)), 983040 + unicode(substr(old.id, -4, 1)) * 256 + unicode(substr(old.id, -3, 1)), 983040 + unicode(substr(old.id, -2, 1)) * 256 + unicode(substr(old.id, -1, 1))) || '"' AND id = old.id
  );
END;
--> statement-breakpoint
INSERT INTO domain_search SELECT * FROM domain_documents;
--> statement-breakpoint
CREATE VIEW invite_documents AS
  SELECT organization, self, text, (SELECT char(1) || group_concat(substr(text, key + 1, 1) || char(1), '') FROM json_each('[' || substr(replace(hex(zeroblob(length(text))), '00', ',0'), 2) || ']')) AS letters, name, organization_id, id
  FROM (
    SELECT char(983040 + unicode(substr(organization_id, -6, 1)) * 256 + unicode(substr(organization_id, -5, 1)), 983040 + unicode(substr(organization_id, -4, 1)) * 256 + unicode(substr(organization_id, -3, 1)), 983040 + unicode(substr(organization_id, -2, 1)) * 256 + unicode(substr(organization_id, -1, 1))) AS organization,
      char(983040 + unicode(substr(id, -6, 1)) * 256 + unicode(substr(id, -5, 1)), 983040 + unicode(substr(id, -4, 1)) * 256 + unicode(substr(id, -3, 1)), 983040 + unicode(substr(id, -2, 1)) * 256 + unicode(substr(id, -1, 1))) AS self,
      replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(target_email, char(223), 'ss'), char(7838), 'ss'), char(962), char(963)), char(305), 'i'), char(304), 'i'), char(181), char(956)), char(8491), char(229)), char(8486), char(969)), char(453), char(454)), char(456), char(457)), char(459), char(460)), char(498), char(499)) AS text,
      target_email AS name, organization_id, id
    FROM invites
  );
--> statement-breakpoint
CREATE VIRTUAL TABLE invite_search USING fts5(organization, self, text, letters, name UNINDEXED, organization_id UNINDEXED, id UNINDEXED, detail = none, tokenize = 'trigram');
--> statement-breakpoint
CREATE TRIGGER invites_search_insert AFTER INSERT ON invites BEGIN
  INSERT INTO invite_search SELECT * FROM invite_documents WHERE id = new.id;
END;
--> statement-breakpoint
CREATE TRIGGER invites_search_update AFTER UPDATE OF target_email ON invites WHEN new.target_email <> old.target_email BEGIN
  DELETE FROM invite_search WHERE rowid IN (
    SELECT rowid FROM invite_search WHERE invite_search MATCH '"' || char(983040 + unicode(substr(old.organization_id, -6, 1)) * 256 + unicode(substr(old.organization_id, -5, 1)), 983040 + unicode(substr(old.organization_id, -4, 1)) * 256 + unicode(substr(old.organization_id, -3, 1)), 983040 + unicode(substr(old.organization_id, -2, 1)) * 256 + unicode(substr(old.organization_id, -1, 1))) || '" AND "' || char(983040 + unicode(substr(old.id, -6, 1)) * 256 + unicode(substr(old.id, -5, 1)), 983040 + unicode(substr(old.id, -4, 1)) * 256 + unicode(substr(old.id, -3, 1)), 983040 + unicode(substr(old.id, -2, 1)) * 256 + unicode(substr(old.id, -1, 1))) || '"' AND id = old.id
  );
  INSERT INTO invite_search SELECT * FROM invite_documents WHERE id = new.id;
END;
--> statement-breakpoint
CREATE TRIGGER invites_search_delete AFTER DELETE ON invites BEGIN
  DELETE FROM invite_search WHERE rowid IN (
    SELECT rowid FROM invite_search WHERE invite_search MATCH '"' || char(983040 + unicode(substr(old.organization_id, -6, 1)) * 256 + unicode(substr(old.organization_id, -5, 1)), 983040 + unicode(substr(old.organization_id, -4, 1)) * 256 + unicode(substr(old.organization_id, -3, 1)), 983040 + unicode(substr(old.organization_id, -2, 1)) * 256 + unicode(substr(old.organization_id, -1, 1))) || '" AND "' || char(983040 + unicode(substr(old.id, -6, 1)) * 256 + unicode(substr(old.id, -5, 1)), 983040 + unicode(substr(old.id, -4, 1)) * 256 + unicode(substr(old.id, -3, 1)), 983040 + unicode(substr(old.id, -2, 1)) * 256 + unicode(substr(old.id, -1, 1))) || '"' AND id = old.id
  );
END;
--> statement-breakpoint
INSERT INTO invite_search SELECT * FROM invite_documents;
