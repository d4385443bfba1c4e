import { Button, Checkbox, SegmentedControl, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { KillSwitch } from "../../client/triggers";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/States";
import { parseLabel } from "../../core/labels";
import { keys, post, useAction, useHosts } from "../../lib/queries";
import classes from "./KillSwitch.module.css";
import { SWITCHES } from "./KillSwitchBand";

const KINDS = ["everywhere", "label", "host"] as const;
type Kind = (typeof KINDS)[number];

/** Stops all captures: everywhere at one click, or on hosts with a label, or on one host. */
export function KillSwitchDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const [kind, setKind] = useState<Kind>("everywhere");
  const [label, setLabel] = useState("");
  const [host, setHost] = useState<string | null>(null);
  const [reason, setReason] = useState("");
  const [cancel, setCancel] = useState(true);
  const hosts = useHosts({ state: "active" });
  const pair = parseLabel(label);
  const ready = kind === "everywhere" || (kind === "label" ? pair !== undefined : host !== null);
  const pull = useAction(
    () =>
      post<KillSwitch>("/kill-switches", {
        kind,
        reason,
        cancel,
        ...(kind === "label" && pair ? { label: { [pair[0]]: pair[1] } } : {}),
        ...(kind === "host" ? { host_id: host } : {}),
      }),
    [SWITCHES, keys.captures],
    onClose,
  );
  return (
    <Dialog onClose={onClose} title={t("killSwitch.title")}>
      <form
        className={classes.stack}
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) pull.mutate(undefined);
        }}
      >
        <p>{t("killSwitch.text")}</p>
        <SegmentedControl
          value={kind}
          onChange={(value) => setKind(value as Kind)}
          data={KINDS.map((value) => ({ value, label: t(`killSwitch.kind.${value}`) }))}
          aria-label={t("killSwitch.where")}
        />
        {kind === "label" && (
          <TextInput
            label={t("killSwitch.kind.label")}
            placeholder="role=feed"
            value={label}
            onChange={(event) => setLabel(event.currentTarget.value)}
          />
        )}
        {kind === "host" && (
          <Select
            label={t("killSwitch.kind.host")}
            searchable
            limit={50}
            data={(hosts.data ?? []).map((one) => ({ value: one.id, label: one.name }))}
            value={host}
            onChange={setHost}
          />
        )}
        <TextInput
          label={t("killSwitch.reason")}
          value={reason}
          maxLength={300}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
        <Checkbox
          label={t("killSwitch.cancel")}
          checked={cancel}
          onChange={(event) => setCancel(event.currentTarget.checked)}
        />
        <ErrorLine error={pull.error} />
        <div className={classes.buttons}>
          <Button type="submit" color="red" disabled={!ready} loading={pull.isPending} data-autofocus>
            {t(`killSwitch.pull.${kind}`)}
          </Button>
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
