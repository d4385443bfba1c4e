import { Button, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Rotation } from "../../client/schedules";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/States";
import { TimeField } from "../../components/TimeField";
import { post, useAction, useMe } from "../../lib/queries";
import { scheduleKeys, useColleagues } from "../../lib/schedules";
import classes from "./oncall.module.css";

const HALF_DAY_MS = 12 * 3_600_000;

/** Somebody takes over for a while: oneself, unless another one is chosen. */
export function TakeDialog({ rotation, onClose }: { rotation: Rotation; onClose: () => void }) {
  const { t } = useTranslation();
  const me = useMe().data;
  const people = useColleagues(true).data ?? [];
  const [who, setWho] = useState<string | null>(me?.id ?? null);
  const [from, setFrom] = useState(() => new Date().toISOString());
  const [until, setUntil] = useState(() => new Date(Date.now() + HALF_DAY_MS).toISOString());
  const [reason, setReason] = useState("");
  const [once] = useState(() => crypto.randomUUID());
  const take = useAction(
    () =>
      post<Rotation>(
        `/rotations/${rotation.id}/overrides`,
        { user_id: who, starts_at: from, ends_at: until, reason: reason.trim() },
        once,
      ),
    [scheduleKeys.oncall],
    onClose,
  );
  return (
    <Dialog onClose={onClose} title={t("oncall.takeTitle", { name: rotation.name })} size="34rem">
      <form
        className={classes.stack}
        onSubmit={(event) => {
          event.preventDefault();
          take.mutate(undefined);
        }}
      >
        <Select
          label={t("oncall.who")}
          data={people.map((one) => ({ value: one.id, label: `${one.name} · ${t(`role.${one.role}`)}` }))}
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
        <ErrorLine error={take.error} />
        <div className={classes.buttons}>
          <Button type="submit" loading={take.isPending} disabled={!who || !from || !until}>
            {t("oncall.take")}
          </Button>
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
