import { Button, Checkbox, MultiSelect, NumberInput, Select, TagsInput, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Channel } from "../../client/models";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/EmptyState";
import { CommandLine } from "../../components/fields/CopyButton";
import { SecretField } from "../../components/fields/SecretField";
import { patch, post, remove, useAction } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Trigger, TriggerKind } from "./api";
import { ALERTS, TRIGGER_KINDS, TRIGGERS } from "./api";
import { exampleCurl } from "./examples";
import { TestTriggerDialog } from "./TestTriggerDialog";
import { type TriggerDraft, toTriggerBody, toTriggerDraft, toTriggerUpdate } from "./triggerDraft";
import classes from "./triggers.module.css";

interface Props {
  trigger?: Trigger;
  channels: readonly Channel[];
  onClose: () => void;
}

/** Dialog that creates or edits a trigger, with an example request and a test. */
export function TriggerDialog({ trigger, channels, onClose }: Props) {
  const { t } = useTranslation();
  const [saved, setSaved] = useState<Trigger | undefined>(trigger);
  const [draft, setDraft] = useState<TriggerDraft>(() => toTriggerDraft(trigger));
  const [sure, setSure] = useState(false);
  const [once] = useState(() => crypto.randomUUID());
  const change = (some: Partial<TriggerDraft>) => setDraft((before) => ({ ...before, ...some }));
  const save = useAction(
    async () =>
      setSaved(
        saved
          ? await patch(`/triggers/${saved.id}`, toTriggerUpdate(draft))
          : await post("/triggers", toTriggerBody(draft), once),
      ),
    [TRIGGERS],
  );
  const renew = useAction(
    async (id: string) => setSaved(await patch(`/triggers/${id}`, { new_secret: true })),
    [TRIGGERS],
  );
  const drop = useAction((id: string) => remove(`/triggers/${id}`), [TRIGGERS, ALERTS], onClose);
  return (
    <Dialog
      onClose={onClose}
      size="lg"
      title={saved ? t("triggers.editTitle", { name: saved.name }) : t("triggers.add")}
    >
      <form
        className={classes.stack}
        onSubmit={(event) => {
          event.preventDefault();
          if (draft.name.trim()) save.mutate(undefined);
        }}
      >
        <div className={classes.row}>
          <TextInput
            label={t("triggers.name")}
            value={draft.name}
            maxLength={64}
            onChange={(event) => change({ name: event.currentTarget.value })}
            data-autofocus
          />
          <Select
            label={t("triggers.kind")}
            data={TRIGGER_KINDS.map((value) => ({ value, label: t(`triggers.kinds.${value}`) }))}
            value={draft.kind}
            disabled={saved !== undefined}
            allowDeselect={false}
            onChange={(kind) => kind && change({ kind: kind as TriggerKind })}
          />
          <Select
            label={t("triggers.proof")}
            data={(["token", "hmac"] as const).map((value) => ({
              value,
              label: t(`triggers.proofs.${value}`),
            }))}
            value={draft.proof}
            disabled={saved !== undefined}
            allowDeselect={false}
            onChange={(proof) => proof && change({ proof: proof as "token" | "hmac" })}
          />
        </div>
        {!saved && draft.proof === "hmac" && (
          <SecretField
            label={t("triggers.secret")}
            description={t("triggers.secretText")}
            value={draft.secret}
            onChange={(event) => change({ secret: event.currentTarget.value })}
          />
        )}
        <div className={classes.row}>
          <NumberInput
            label={t("triggers.seconds")}
            min={5}
            max={60}
            value={draft.seconds}
            onChange={(seconds) => change({ seconds })}
          />
          <NumberInput
            label={t("triggers.peers")}
            min={0}
            max={5}
            value={draft.peers}
            onChange={(peers) => change({ peers })}
          />
          <NumberInput
            label={t("triggers.cooldown")}
            min={1}
            max={1440}
            value={draft.cooldownMin}
            onChange={(cooldownMin) => change({ cooldownMin })}
          />
          <NumberInput
            label={t("triggers.severity")}
            min={1}
            max={4}
            value={draft.severity}
            onChange={(severity) => change({ severity })}
          />
        </div>
        <TagsInput
          label={t("triggers.hostLabels")}
          description={t("triggers.hostLabelsText")}
          placeholder="instance"
          value={draft.hostLabels}
          onChange={(hostLabels) => change({ hostLabels })}
        />
        <MultiSelect
          label={t("triggers.channels")}
          data={channels
            .filter((channel) => channel.kind !== "grafana")
            .map((channel) => ({ value: channel.id, label: channel.name }))}
          value={draft.channels}
          onChange={(chosen) => change({ channels: chosen })}
        />
        <Checkbox
          label={t("triggers.enabled")}
          checked={draft.enabled}
          onChange={(event) => change({ enabled: event.currentTarget.checked })}
        />
        <p className="dim">{t("triggers.owned")}</p>
        <ErrorLine error={save.error ?? renew.error ?? drop.error} />
        <div className={classes.buttons}>
          <Button type="submit" loading={save.isPending} disabled={!draft.name.trim()}>
            {saved ? t("action.save") : t("triggers.add")}
          </Button>
          <Button variant="default" onClick={onClose}>
            {t("action.close")}
          </Button>
          {saved && (
            <Button variant="default" loading={renew.isPending} onClick={() => renew.mutate(saved.id)}>
              {t("triggers.renew")}
            </Button>
          )}
          {saved && (
            <Button
              className={classes.pushRight ?? ""}
              variant={sure ? "filled" : "default"}
              color="red"
              loading={drop.isPending}
              onClick={() => (sure ? drop.mutate(saved.id) : setSure(true))}
            >
              {t(sure ? "services.removeSure" : "services.remove")}
            </Button>
          )}
        </div>
      </form>
      {saved && <HowToSend trigger={saved} />}
      {saved && <TestTriggerDialog trigger={saved} />}
    </Dialog>
  );
}

function HowToSend({ trigger }: { trigger: Trigger }) {
  const { t } = useTranslation();
  return (
    <section className={classes.newSecret} role="status" aria-label={t("triggers.howTo")}>
      <p>{trigger.secret ? t("triggers.secretOnce") : t("triggers.howTo")}</p>
      {trigger.secret && <CommandLine text={trigger.secret} />}
      <CommandLine text={`${location.origin}${trigger.path}`} />
      <CommandLine text={exampleCurl(trigger, location.origin, trigger.secret || "…")} />
    </section>
  );
}
