import { Button, Checkbox, SegmentedControl, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/EmptyState";
import { parseLabel } from "../../core/hosts/labels";
import { post, queryKeys, useAction, useHosts } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./KillSwitch.module.css";
import { KILL_SWITCHES } from "./KillSwitchBar";

const KINDS = ["everywhere", "label", "host"] as const;
type Kind = (typeof KINDS)[number];

/** Dialog that stops all captures on all hosts, on hosts with a label, or on a single host. */
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
  const activate = useAction(
    () =>
      post("/kill-switches", {
        kind,
        reason,
        cancel,
        ...(kind === "label" && pair ? { label: { [pair[0]]: pair[1] } } : {}),
        ...(kind === "host" ? { host_id: host } : {}),
      }),
    [KILL_SWITCHES, queryKeys.captures],
    onClose,
  );
  return (
    <Dialog onClose={onClose} title={t("killSwitch.title")}>
      <form
        className={classes.stack}
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) activate.mutate(undefined);
        }}
      >
        <p>{t("killSwitch.text")}</p>
        <SegmentedControl
          value={kind}
          onChange={(value) => setKind(value as Kind)}
          data={KINDS.map((value) => ({ value, label: t(`killSwitch.kind.${value}`) }))}
          aria-label={t("killSwitch.target")}
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
            data={(hosts.data ?? []).map((host) => ({ value: host.id, label: host.name }))}
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
        <ErrorLine error={activate.error} />
        <div className={classes.buttons}>
          <Button type="submit" color="red" disabled={!ready} loading={activate.isPending} data-autofocus>
            {t(`killSwitch.activate.${kind}`)}
          </Button>
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
