import { Button, Checkbox, MultiSelect, NumberInput, Select, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Capture, Host, Preview } from "../../client/types";
import { Dialog } from "../../components/Dialog";
import { Mark, TierTag } from "../../components/Mark";
import { ErrorLine, ErrorState, RowSkeleton } from "../../components/States";
import { cx } from "../../core/cx";
import { bytes, number } from "../../core/format";
import { ApiError } from "../../lib/api";
import { useDialogState } from "../../lib/dialogs";
import { usePick, useSentence } from "../../lib/i18n";
import { keys, post, useAction, useCollectors, useHosts, usePlans } from "../../lib/queries";
import { usePreview } from "../../lib/usePreview";
import { expectedCost, PreviewTable } from "../../renderers/capture/PreviewTable";
import { CollectorChoice, OptionFields } from "./CollectorChoice";
import { type CaptureDraft, CUSTOM, chosenOf, lackOf, previewOf } from "./captureDraft";
import classes from "./NewCapture.module.css";
import { PtraceConsent } from "./PtraceConsent";
import { ScopeFields } from "./ScopeFields";
import { type Place, placeOf, scopeOfText } from "./scope";

const sentenceOf = (error: unknown) => (error instanceof ApiError ? error.sentence : null);

/** Before anything runs: which commands, on which hosts, at what tier and cost, for how long. */
export function NewCaptureDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const navigate = useNavigate();
  const [asked] = useDialogState();
  const hosts = useHosts({ state: "active" });
  const about = useCollectors();
  const [draft, setDraft] = useState<CaptureDraft>(() => ({
    hosts: [...asked.on],
    plan: asked.with.length > 0 ? CUSTOM : asked.plan || "triage",
    seconds: "",
    collectors: [...asked.with],
    scope: scopeOfText(asked.scope),
    options: {},
    service: true,
    reason: "",
    confirm: "",
  }));
  const [once] = useState(() => crypto.randomUUID());
  const change = (some: Partial<CaptureDraft>) => setDraft((before) => ({ ...before, ...some }));

  const chosen = chosenOf(draft, about.data ?? []);
  const body = previewOf(draft, chosen);
  const lack = lackOf(draft, chosen);
  const preview = usePreview(body, !lack);
  const data = lack ? undefined : preview.data;
  const traces = chosen.some((one) => one.tier === "ptrace") || data?.tier === "ptrace";
  const on = (hosts.data ?? []).filter((host) => draft.hosts.includes(host.id));
  const confirmed = !traces || (draft.hosts.length === 1 && draft.confirm === on[0]?.name);
  const run = useAction(
    () =>
      post<Capture>(
        "/captures",
        { ...body, reason: draft.reason.trim(), ...(traces ? { confirm: draft.confirm } : {}) },
        once,
      ),
    [keys.captures, keys.hosts],
    (capture) => void navigate({ to: "/captures/$captureId", params: { captureId: capture.id } }),
  );
  const startable = !lack && data?.allowed === true && confirmed && !preview.isPlaceholderData;

  const said = lack ? null : (sentenceOf(run.error) ?? sentenceOf(preview.error) ?? data?.refusal ?? null);
  const optionShown = chosen.some(
    ({ id, options }) => id === said?.params.collector && options.some((o) => o.name === said.params.option),
  );
  const wanted = said ? placeOf(said) : "bottom";
  const place =
    (wanted === "consent" && !traces) || (wanted === "options" && !optionShown) ? "bottom" : wanted;
  const at = (where: Place) => (said && place === where ? sentence(said) : undefined);
  return (
    <Dialog onClose={onClose} title={t("newCapture.title")} size="72rem">
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (startable) run.mutate(undefined);
        }}
      >
        <PlanFields draft={draft} hosts={hosts.data} refused={at("hosts")} onChange={change} />
        <ScopeFields scope={draft.scope} refused={at("scope")} onChange={(scope) => change({ scope })} />
        {draft.plan === CUSTOM && (
          <>
            <CollectorChoice
              collectors={about.data ?? []}
              chosen={draft.collectors}
              onChange={(collectors) => change({ collectors })}
            />
            <OptionFields
              collectors={chosen}
              draft={draft.options}
              refused={
                said && place === "options"
                  ? { text: sentence(said), collector: said.params.collector, option: said.params.option }
                  : undefined
              }
              onChange={(options) => change({ options })}
            />
          </>
        )}
        {traces && (
          <PtraceConsent
            hosts={on}
            pid={draft.scope.kind === "process" ? draft.scope.value : ""}
            refused={at("consent")}
            typed={draft.confirm}
            onType={(confirm) => change({ confirm })}
          />
        )}
        {(!draft.service || data?.collectors.some((one) => one.why)) && (
          <Checkbox
            size="xs"
            label={t("newCapture.service")}
            checked={draft.service}
            onChange={(event) => change({ service: event.currentTarget.checked })}
          />
        )}
        {data?.service && <p className={classes.hint}>{sentence(data.service)}</p>}
        <div className={cx(classes.preview, preview.isPlaceholderData && classes.stale)}>
          {lack ? (
            <p className={classes.hint}>{t(`newCapture.${lack}`)}</p>
          ) : preview.error ? (
            place === "bottom" ? (
              <ErrorState error={preview.error} retry={() => void preview.refetch()} />
            ) : (
              <p className={classes.hint}>{t("newCapture.mendFirst")}</p>
            )
          ) : data ? (
            <PreviewTable preview={data} hosts={hosts.data ?? []} />
          ) : (
            <RowSkeleton rows={8} />
          )}
        </div>
        <div className={classes.bottom}>
          <Summary
            data={data}
            refusal={
              data && !data.allowed && place === "bottom"
                ? sentence(data.refusal) || t("error.forbidden")
                : undefined
            }
          />
          <ErrorLine error={place === "bottom" && run.error} />
          <Button variant="default" size="sm" onClick={onClose}>
            {t("action.cancel")}
          </Button>
          <Button
            type="submit"
            size="sm"
            leftSection={<Play size={14} />}
            disabled={!startable}
            loading={run.isPending}
          >
            {t("newCapture.run", { count: draft.hosts.length })}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface PlanProps {
  draft: CaptureDraft;
  hosts: readonly Host[] | undefined;
  /** What the server says against these hosts. */
  refused: string | undefined;
  onChange: (some: Partial<CaptureDraft>) => void;
}

/** Where, what, how long and why. */
function PlanFields({ draft, hosts, refused, onChange }: PlanProps) {
  const { t } = useTranslation();
  const pick = usePick();
  const [asked] = useDialogState();
  const plans = usePlans();
  const known = plans.data?.find((one) => one.id === draft.plan);
  return (
    <div className={classes.top}>
      <MultiSelect
        label={t("nav.hosts")}
        placeholder={draft.hosts.length === 0 ? t("newCapture.chooseHosts") : ""}
        data={
          hosts?.map((host) => ({ value: host.id, label: host.name })) ??
          draft.hosts.map((id) => ({ value: id, label: "…" }))
        }
        value={[...draft.hosts]}
        onChange={(chosen) => onChange({ hosts: chosen })}
        searchable
        clearable
        limit={80}
        maxValues={200}
        hidePickedOptions
        className={classes.hosts ?? ""}
        error={refused}
        data-autofocus={asked.on.length === 0 || undefined}
      />
      <Select
        label={t("captures.plan")}
        data={[
          ...(plans.data ?? []).map((one) => ({
            value: one.id,
            label: `${pick(one.title)} · ${t(`tier.${one.tier}.name`)}`,
          })),
          { value: CUSTOM, label: t("newCapture.custom") },
        ]}
        value={draft.plan}
        onChange={(plan) => onChange({ plan: plan ?? "triage", seconds: "" })}
      />
      <NumberInput
        label={t("newCapture.seconds")}
        min={1}
        max={600}
        placeholder={String(known?.seconds ?? 30)}
        suffix=" s"
        value={draft.seconds}
        onChange={(seconds) => onChange({ seconds })}
      />
      <TextInput
        label={t("captures.reason")}
        placeholder={t("newCapture.reasonHint")}
        data-autofocus
        maxLength={500}
        value={draft.reason}
        onChange={(event) => onChange({ reason: event.currentTarget.value })}
        className={classes.reason ?? ""}
      />
    </div>
  );
}

/** Tier, duration and cost on one line, and why it may not be, where it may not. */
function Summary({ data, refusal }: { data: Preview | undefined; refusal: string | undefined }) {
  const { t } = useTranslation();
  const cost = data && expectedCost(data);
  return (
    <span className={classes.summary}>
      {data && cost && (
        <>
          <TierTag tier={data.tier} />
          <span>{t("newCapture.takes", { seconds: data.total_seconds })}</span>
          <span>{t("newCapture.cost", { cpu: number(cost.cpu_pct), bytes: bytes(cost.bytes) })}</span>
        </>
      )}
      {refusal && <Mark tone="bad">{refusal}</Mark>}
    </span>
  );
}
