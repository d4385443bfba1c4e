import { Button, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Rotation } from "../../client/models";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/EmptyState";
import { TimeField } from "../../components/fields/TimeField";
import { scheduleKeys, useOncallCandidates } from "../../lib/captures/schedules";
import { post, useAction, useMe } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./oncall.module.css";

const HALF_DAY_MS = 12 * 3_600_000;

/** Dialog that creates an override; the default person is the signed-in user. */
export function OverrideDialog({ rotation, onClose }: { rotation: Rotation; onClose: () => void }) {
  const { t } = useTranslation();
  const me = useMe().data;
  const people = useOncallCandidates(true).data ?? [];
  const [who, setWho] = useState<string | null>(me?.id ?? null);
  const [from, setFrom] = useState(() => new Date().toISOString());
  const [until, setUntil] = useState(() => new Date(Date.now() + HALF_DAY_MS).toISOString());
  const [reason, setReason] = useState("");
  const [once] = useState(() => crypto.randomUUID());
  const override = useAction(
    (userId: string) =>
      post(
        `/rotations/${rotation.id}/overrides`,
        { user_id: userId, starts_at: from, ends_at: until, reason: reason.trim() },
        once,
      ),
    [scheduleKeys.oncall],
    onClose,
  );
  return (
    <Dialog onClose={onClose} title={t("oncall.overrideTitle", { name: rotation.name })} size="34rem">
      <form
        className={classes.stack}
        onSubmit={(event) => {
          event.preventDefault();
          if (who) override.mutate(who);
        }}
      >
        <Select
          label={t("oncall.who")}
          data={people.map((person) => ({
            value: person.id,
            label: `${person.name} · ${t(`role.${person.role}`)}`,
          }))}
          value={who}
          onChange={setWho}
          searchable
          allowDeselect={false}
        />
        <div className={classes.row}>
          <TimeField label={t("maintenance.from")} required value={from} onChange={setFrom} />
          <TimeField label={t("maintenance.until")} required value={until} onChange={setUntil} />
        </div>
        <TextInput
          label={t("captures.reason")}
          value={reason}
          maxLength={400}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
        <ErrorLine error={override.error} />
        <div className={classes.buttons}>
          <Button type="submit" loading={override.isPending} disabled={!who || !from || !until}>
            {t("oncall.addOverride")}
          </Button>
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
