import {
  Button,
  Checkbox,
  MultiSelect,
  NumberInput,
  SegmentedControl,
  Select,
  TextInput,
} from "@mantine/core";
import { useState } from "react";
import type { ConditionKind } from "../../client/models";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/EmptyState";
import { useDialogState } from "../../lib/dialogs";
import { post, useAction, useHosts, usePlans } from "../../lib/queries";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { useConditionKinds, WATCHERS } from "../../widgets/watchers/api";
import classes from "../../widgets/watchers/watchers.module.css";
import { ConditionFields } from "./ConditionFields";
import {
  type ConditionDraft,
  emptyCondition,
  emptyDraft,
  MAX_CONDITIONS,
  MAX_HOURS,
  toWatcherBodies,
  type WatcherDraft,
} from "./watcherDraft";

/**
 * Dialog that creates a watcher on a host: a conditional capture or a look-back buffer. For an incident, it creates a
 * conditional capture on each selected host, whose captures become evidence of the incident.
 */
export function CreateWatcherDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const [dialog] = useDialogState();
  const [draft, setDraft] = useState<WatcherDraft>(() => emptyDraft(dialog.on));
  const [once] = useState(() => crypto.randomUUID());
  const incident = dialog.about;
  const hosts = useHosts({ state: "active" });
  const kinds = useConditionKinds().data ?? [];
  const named = (hosts.data ?? []).map((host) => ({ value: host.id, label: host.name }));
  const change = (some: Partial<WatcherDraft>) => setDraft((before) => ({ ...before, ...some }));
  // An incident can contain hosts that are not active: imported and retired hosts.
  const chosen = draft.hosts.filter((host) => named.some((item) => item.value === host));
  const bodies = toWatcherBodies({ ...draft, hosts: chosen }, kinds, incident);
  const save = useAction(
    async () => {
      // Sequential with an idempotency key per host: a retry after an error does not create the first watchers again.
      for (const body of bodies ?? []) await post("/watchers", body, `${once}-${body.host_id}`);
    },
    [WATCHERS],
    onClose,
  );
  return (
    <Dialog
      onClose={onClose}
      title={t(incident ? "watchers.createForIncident" : "watchers.new")}
      size="60rem"
    >
      <form
        className={classes.stack}
        onSubmit={(event) => {
          event.preventDefault();
          if (bodies) save.mutate(undefined);
        }}
      >
        {!incident && (
          <SegmentedControl
            value={draft.kind}
            onChange={(kind) => change({ kind: kind as WatcherDraft["kind"] })}
            data={(["conditional", "lookback"] as const).map((value) => ({
              value,
              label: t(`watchers.kind.${value}`),
            }))}
            aria-label={t("watchers.what")}
          />
        )}
        <p className={classes.hint}>
          {t(`watchers.text.${draft.kind}`)} {incident && t("watchers.forIncidentText")}
        </p>
        <div className={classes.row}>
          {incident ? (
            <MultiSelect
              label={t("watchers.hosts")}
              data={named.filter((item) => dialog.on.includes(item.value))}
              value={chosen}
              onChange={(picked) => change({ hosts: picked })}
            />
          ) : (
            <Select
              label={t("watchers.host")}
              searchable
              limit={50}
              data={named}
              value={chosen[0] ?? null}
              onChange={(host) => change({ hosts: host ? [host] : [] })}
            />
          )}
          <NumberInput
            label={t("watchers.hours")}
            min={0.25}
            max={MAX_HOURS}
            value={draft.hours}
            onChange={(hours) => change({ hours })}
          />
          {draft.kind === "lookback" && (
            <NumberInput
              label={t("watchers.minutes")}
              min={1}
              max={30}
              value={draft.minutes}
              onChange={(minutes) => change({ minutes })}
            />
          )}
        </div>
        {draft.kind === "lookback" && (
          <Checkbox
            label={t("watchers.stacks")}
            description={t("watchers.stacksText")}
            checked={draft.stacks}
            onChange={(event) => change({ stacks: event.currentTarget.checked })}
          />
        )}
        {draft.kind === "conditional" && <ConditionalFields draft={draft} kinds={kinds} onChange={change} />}
        <TextInput
          label={t("watchers.reason")}
          value={draft.reason}
          maxLength={400}
          onChange={(event) => change({ reason: event.currentTarget.value })}
        />
        <p className={classes.hint}>{t(`watchers.costText.${draft.kind}`)}</p>
        <ErrorLine error={save.error} />
        <div className={classes.buttons}>
          <Button type="submit" disabled={!bodies} loading={save.isPending}>
            {t(`watchers.create.${draft.kind}`)}
          </Button>
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface ConditionalFieldsProps {
  draft: WatcherDraft;
  kinds: readonly ConditionKind[];
  onChange: (some: Partial<WatcherDraft>) => void;
}

function ConditionalFields({ draft, kinds, onChange }: ConditionalFieldsProps) {
  const { t } = useTranslation();
  const names = useNames();
  const plans = usePlans().data ?? [];
  const set = (id: number, some: Partial<ConditionDraft>) =>
    onChange({
      conditions: draft.conditions.map((conditionDraft) =>
        conditionDraft.id === id ? { ...conditionDraft, ...some } : conditionDraft,
      ),
    });
  const next = Math.max(0, ...draft.conditions.map((conditionDraft) => conditionDraft.id)) + 1;
  return (
    <>
      <fieldset className={classes.conditions}>
        {draft.conditions.map((conditionDraft) => (
          <ConditionFields
            key={conditionDraft.id}
            draft={conditionDraft}
            kinds={kinds}
            onChange={(some) => set(conditionDraft.id, some)}
            onRemove={
              draft.conditions.length > 1
                ? () =>
                    onChange({ conditions: draft.conditions.filter((each) => each.id !== conditionDraft.id) })
                : undefined
            }
          />
        ))}
        {draft.conditions.length < MAX_CONDITIONS && (
          <div>
            <Button
              size="compact-sm"
              variant="default"
              onClick={() => onChange({ conditions: [...draft.conditions, emptyCondition(next)] })}
            >
              {t("watchers.addCondition")}
            </Button>
          </div>
        )}
      </fieldset>
      <div className={classes.row}>
        <Select
          label={t("watchers.plan")}
          data={plans
            .filter((plan) => plan.tier === "light" || plan.tier === "standard")
            .map((plan) => ({ value: plan.id, label: names.plan(plan.id) }))}
          value={draft.plan}
          allowDeselect={false}
          onChange={(plan) => plan && onChange({ plan })}
        />
        <NumberInput
          label={t("watchers.seconds")}
          placeholder={t("watchers.planDefault")}
          min={1}
          max={600}
          value={draft.seconds}
          onChange={(seconds) => onChange({ seconds })}
        />
        <NumberInput
          label={t("watchers.maxCaptures")}
          min={1}
          max={10}
          value={draft.maxCaptures}
          onChange={(maxCaptures) => onChange({ maxCaptures })}
        />
        <NumberInput
          label={t("watchers.cooldown")}
          min={1}
          max={1440}
          value={draft.cooldownMinutes}
          onChange={(cooldownMinutes) => onChange({ cooldownMinutes })}
        />
      </div>
    </>
  );
}
