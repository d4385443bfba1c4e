"""SQL of the schema that the models do not state: functions and triggers."""

from __future__ import annotations

# Returns every UUID in a JSON value, wherever it is, so that a GIN index finds what a value cites. The high cost makes
# the planner use that index; with the default cost it would evaluate the function for each row instead.
MENTIONED_IDS = r"""
CREATE FUNCTION mentioned_ids(jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 10000 AS $$
    SELECT coalesce(array_agg(DISTINCT matches[1]), '{}') FROM regexp_matches(
        lower($1::text), '([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})', 'g') AS matches
$$
"""

# The audit log only grows. A role that can drop the trigger can also edit rows; the hash chain then shows it.
AUDIT_ENTRY_APPEND_ONLY = """
CREATE FUNCTION audit_entry_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit_entry is append-only' USING ERRCODE = 'insufficient_privilege';
END $$
"""

REPORT_VERSION_FROZEN = """
CREATE FUNCTION report_version_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.content, NEW.ciphertext, NEW.nonce, NEW.counts, NEW.hosts, NEW.sha256, NEW.number,
        NEW.report_id, NEW.created_by, NEW.created_at)
       IS DISTINCT FROM
       (OLD.content, OLD.ciphertext, OLD.nonce, OLD.counts, OLD.hosts, OLD.sha256, OLD.number,
        OLD.report_id, OLD.created_by, OLD.created_at) THEN
        RAISE EXCEPTION 'a frozen report does not change' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$
"""

# Signature of each function and the statement that creates it, in order.
FUNCTIONS = {
    "mentioned_ids(jsonb)": MENTIONED_IDS,
    "audit_entry_append_only()": AUDIT_ENTRY_APPEND_ONLY,
    "report_version_frozen()": REPORT_VERSION_FROZEN,
}
TRIGGERS = (
    "CREATE TRIGGER audit_entry_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entry"
    " FOR EACH STATEMENT EXECUTE FUNCTION audit_entry_append_only()",
    "CREATE TRIGGER report_version_frozen BEFORE UPDATE ON report_version"
    " FOR EACH ROW EXECUTE FUNCTION report_version_frozen()",
)
