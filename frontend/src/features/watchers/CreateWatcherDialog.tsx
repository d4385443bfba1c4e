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
import { useTranslation } from "react-i18next";
import type { ConditionKind, Standby } from "../../client/standbys";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/States";
import { useDialogState } from "../../lib/dialogs";
import { post, useAction, useHosts, usePlans } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import { STANDBYS, useConditionKinds } from "../../renderers/standbys/data";
import classes from "../../renderers/standbys/standbys.module.css";
import {
  type ArmDraft,
  bodiesOf,
  type ConditionDraft,
  emptyCondition,
  emptyDraft,
  MAX_CONDITIONS,
  MAX_HOURS,
} from "./armDraft";
import { ConditionFields } from "./ConditionFields";

/**
 * What shall wait on a host: for something to begin, or to keep the last minutes for the next capture. For an incident it
 * waits on each of its hosts that is chosen, and what it captures is evidence there.
 */
export function ArmDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const [asked] = useDialogState();
  const [draft, setDraft] = useState<ArmDraft>(() => emptyDraft(asked.on));
  const [once] = useState(() => crypto.randomUUID());
  const incident = asked.about;
  const hosts = useHosts({ state: "active" });
  const kinds = useConditionKinds().data ?? [];
  const named = (hosts.data ?? []).map((one) => ({ value: one.id, label: one.name }));
  const change = (some: Partial<ArmDraft>) => setDraft((before) => ({ ...before, ...some }));
  // An incident may be about hosts that cannot be reached: those of another Culprit, and those that were taken off.
  const chosen = draft.hosts.filter((host) => named.some((one) => one.value === host));
  const bodies = bodiesOf({ ...draft, hosts: chosen }, kinds, incident);
  const save = useAction(
    async () => {
      // One after another: where a host refuses, those before it wait already, and are not armed again.
      for (const one of bodies ?? []) await post<Standby>("/standbys", one, `${once}-${one.host_id}`);
    },
    [STANDBYS],
    onClose,
  );
  return (
    <Dialog onClose={onClose} title={t(incident ? "standbys.armForIncident" : "standbys.new")} size="60rem">
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
            onChange={(kind) => change({ kind: kind as ArmDraft["kind"] })}
            data={(["armed", "ring"] as const).map((value) => ({
              value,
              label: t(`standbys.kind.${value}`),
            }))}
            aria-label={t("standbys.what")}
          />
        )}
        <p className={classes.hint}>
          {t(`standbys.text.${draft.kind}`)} {incident && t("standbys.forIncidentText")}
        </p>
        <div className={classes.row}>
          {incident ? (
            <MultiSelect
              label={t("standbys.hosts")}
              data={named.filter((one) => asked.on.includes(one.value))}
              value={chosen}
              onChange={(picked) => change({ hosts: picked })}
            />
          ) : (
            <Select
              label={t("standbys.host")}
              searchable
              limit={50}
              data={named}
              value={chosen[0] ?? null}
              onChange={(host) => change({ hosts: host ? [host] : [] })}
            />
          )}
          <NumberInput
            label={t("standbys.hours")}
            min={0.25}
            max={MAX_HOURS}
            value={draft.hours}
            onChange={(hours) => change({ hours })}
          />
          {draft.kind === "ring" && (
            <NumberInput
              label={t("standbys.minutes")}
              min={1}
              max={30}
              value={draft.minutes}
              onChange={(minutes) => change({ minutes })}
            />
          )}
        </div>
        {draft.kind === "ring" && (
          <Checkbox
            label={t("standbys.stacks")}
            description={t("standbys.stacksText")}
            checked={draft.stacks}
            onChange={(event) => change({ stacks: event.currentTarget.checked })}
          />
        )}
        {draft.kind === "armed" && <Armed draft={draft} kinds={kinds} onChange={change} />}
        <TextInput
          label={t("standbys.reason")}
          value={draft.reason}
          maxLength={400}
          onChange={(event) => change({ reason: event.currentTarget.value })}
        />
        <p className={classes.hint}>{t(`standbys.price.${draft.kind}`)}</p>
        <ErrorLine error={save.error} />
        <div className={classes.buttons}>
          <Button type="submit" disabled={!bodies} loading={save.isPending}>
            {t(`standbys.do.${draft.kind}`)}
          </Button>
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface ArmedProps {
  draft: ArmDraft;
  kinds: readonly ConditionKind[];
  onChange: (some: Partial<ArmDraft>) => void;
}

function Armed({ draft, kinds, onChange }: ArmedProps) {
  const { t } = useTranslation();
  const names = useNames();
  const plans = usePlans().data ?? [];
  const set = (id: number, some: Partial<ConditionDraft>) =>
    onChange({ conditions: draft.conditions.map((one) => (one.id === id ? { ...one, ...some } : one)) });
  const next = Math.max(0, ...draft.conditions.map((one) => one.id)) + 1;
  return (
    <>
      <fieldset className={classes.conditions}>
        {draft.conditions.map((one) => (
          <ConditionFields
            key={one.id}
            draft={one}
            kinds={kinds}
            onChange={(some) => set(one.id, some)}
            onRemove={
              draft.conditions.length > 1
                ? () => onChange({ conditions: draft.conditions.filter((each) => each.id !== one.id) })
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
              {t("standbys.or")}
            </Button>
          </div>
        )}
      </fieldset>
      <div className={classes.row}>
        <Select
          label={t("standbys.plan")}
          data={plans
            .filter((one) => one.tier === "light" || one.tier === "standard")
            .map((one) => ({ value: one.id, label: names.plan(one.id) }))}
          value={draft.plan}
          allowDeselect={false}
          onChange={(plan) => plan && onChange({ plan })}
        />
        <NumberInput
          label={t("standbys.seconds")}
          placeholder={t("standbys.asPlanned")}
          min={1}
          max={600}
          value={draft.seconds}
          onChange={(seconds) => onChange({ seconds })}
        />
        <NumberInput
          label={t("standbys.firesMax")}
          min={1}
          max={10}
          value={draft.firesMax}
          onChange={(firesMax) => onChange({ firesMax })}
        />
        <NumberInput
          label={t("standbys.cooldown")}
          min={1}
          max={1440}
          value={draft.cooldownMinutes}
          onChange={(cooldownMinutes) => onChange({ cooldownMinutes })}
        />
      </div>
    </>
  );
}
