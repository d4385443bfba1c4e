import { Button, Textarea } from "@mantine/core";
import { useState } from "react";
import { Dialog } from "../../../components/Dialog";
import { ErrorLine } from "../../../components/EmptyState";
import { TimeField } from "../../../components/fields/TimeField";
import { incidentKeys } from "../../../lib/incidents/incidents";
import { post, queryKeys, useAction } from "../../../lib/queries";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../page/Incidents.module.css";
import type { IncidentDialogProps } from "./types";

const WEEK_MS = 7 * 86_400_000;

/** Dialog that mutes a rule on a host. Its findings stay visible, but do not count until the mute expires. */
export function MuteDialog({ view, onClose }: IncidentDialogProps) {
  const { t } = useTranslation();
  const names = useNames();
  const [reason, setReason] = useState("");
  const [until, setUntil] = useState(() => new Date(Date.now() + WEEK_MS).toISOString());
  const mute = useAction(
    (hostId: string) =>
      post("/mutes", {
        host_id: hostId,
        rule: view.what,
        reason: reason.trim(),
        expires_at: until,
      }),
    [incidentKeys.all, queryKeys.hosts],
    onClose,
  );
  return (
    <Dialog onClose={onClose} title={t("incidents.mute.title")} size="36rem">
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (view.host) mute.mutate(view.host.id);
        }}
      >
        <p className={classes.summary}>
          {names.rule(view.what)} · <span className="mono">{view.host?.name}</span>
        </p>
        <p className={classes.hint}>{t("incidents.mute.text")}</p>
        <Textarea
          label={t("captures.reason")}
          required
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          autosize
          minRows={2}
          data-autofocus
        />
        <TimeField label={t("incidents.mute.until")} required value={until} onChange={setUntil} />
        <ErrorLine error={mute.error} />
        <div className={classes.bottom}>
          <Button variant="default" size="sm" onClick={onClose}>
            {t("action.cancel")}
          </Button>
          <Button
            type="submit"
            size="sm"
            disabled={!reason.trim() || !until || !view.host}
            loading={mute.isPending}
          >
            {t("incidents.mute.button")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
