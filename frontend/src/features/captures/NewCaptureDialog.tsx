import { Button, Checkbox, MultiSelect, NumberInput, Select, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useState } from "react";
import type { Host, Preview } from "../../client/models";
import { Dialog } from "../../components/Dialog";
import { ErrorLine, ErrorState, RowSkeleton } from "../../components/EmptyState";
import { StatusIcon, TierTag } from "../../components/StatusIcon";
import { cx } from "../../core/cx";
import { formatBytes, formatNumber } from "../../core/text/format";
import { ApiError } from "../../lib/api";
import { useCapturePreview } from "../../lib/captures/useCapturePreview";
import { useDialogState } from "../../lib/dialogs";
import { post, queryKeys, useAction, useCollectors, useHosts, usePlans } from "../../lib/queries";
import { useLocalized, useMessage } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import { expectedCost, PreviewTable } from "../../widgets/capture-progress/PreviewTable";
import { CollectorSelect, OptionFields } from "./CollectorSelect";
import {
  type CaptureDraft,
  CUSTOM_PLAN,
  findMissingInput,
  selectedCollectors,
  toPreviewBody,
} from "./captureDraft";
import classes from "./NewCapture.module.css";
import { PtraceConsent } from "./PtraceConsent";
import { ScopeFields } from "./ScopeFields";
import { type ErrorField, errorFieldOf, parseScope } from "./scope";

const messageOf = (error: unknown) => (error instanceof ApiError ? error.sentence : null);

/** Dialog that starts a capture, with a preview of its commands, hosts, tier, cost and duration. */
export function NewCaptureDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const navigate = useNavigate();
  const [dialog] = useDialogState();
  const hosts = useHosts({ state: "active" });
  const about = useCollectors();
  const [draft, setDraft] = useState<CaptureDraft>(() => ({
    hosts: [...dialog.on],
    plan: dialog.with.length > 0 ? CUSTOM_PLAN : dialog.plan || "triage",
    seconds: "",
    collectors: [...dialog.with],
    scope: parseScope(dialog.scope),
    options: {},
    service: true,
    reason: "",
    confirm: "",
  }));
  const [once] = useState(() => crypto.randomUUID());
  const change = (some: Partial<CaptureDraft>) => setDraft((before) => ({ ...before, ...some }));

  const chosen = selectedCollectors(draft, about.data ?? []);
  const body = toPreviewBody(draft, chosen);
  const lack = findMissingInput(draft, chosen);
  const preview = useCapturePreview(body, !lack);
  const data = lack ? undefined : preview.data;
  const traces = chosen.some((collector) => collector.tier === "ptrace") || data?.tier === "ptrace";
  const on = (hosts.data ?? []).filter((host) => draft.hosts.includes(host.id));
  const confirmed = !traces || (draft.hosts.length === 1 && draft.confirm === on[0]?.name);
  const run = useAction(
    () =>
      post(
        "/captures",
        { ...body, reason: draft.reason.trim(), ...(traces ? { confirm: draft.confirm } : {}) },
        once,
      ),
    [queryKeys.captures, queryKeys.hosts],
    (capture) => void navigate({ to: "/captures/$captureId", params: { captureId: capture.id } }),
  );
  const startable = !lack && data?.allowed === true && confirmed && !preview.isPlaceholderData;

  const message = lack ? null : (messageOf(run.error) ?? messageOf(preview.error) ?? data?.refusal ?? null);
  const isOptionVisible = chosen.some(
    ({ id, options }) =>
      id === message?.params.collector && options.some((o) => o.name === message.params.option),
  );
  const errorField = message ? errorFieldOf(message) : "bottom";
  const place =
    (errorField === "consent" && !traces) || (errorField === "options" && !isOptionVisible)
      ? "bottom"
      : errorField;
  const at = (where: ErrorField) => (message && place === where ? formatMessage(message) : undefined);
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
        {draft.plan === CUSTOM_PLAN && (
          <>
            <CollectorSelect
              collectors={about.data ?? []}
              chosen={draft.collectors}
              onChange={(collectors) => change({ collectors })}
            />
            <OptionFields
              collectors={chosen}
              draft={draft.options}
              refused={
                message && place === "options"
                  ? {
                      text: formatMessage(message),
                      collector: message.params.collector,
                      option: message.params.option,
                    }
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
        {(!draft.service || data?.collectors.some((collector) => collector.why)) && (
          <Checkbox
            size="xs"
            label={t("newCapture.service")}
            checked={draft.service}
            onChange={(event) => change({ service: event.currentTarget.checked })}
          />
        )}
        {data?.service && <p className={classes.hint}>{formatMessage(data.service)}</p>}
        <div className={cx(classes.preview, preview.isPlaceholderData && classes.stale)}>
          {lack ? (
            <p className={classes.hint}>{t(`newCapture.${lack}`)}</p>
          ) : preview.error ? (
            place === "bottom" ? (
              <ErrorState error={preview.error} retry={() => void preview.refetch()} />
            ) : (
              <p className={classes.hint}>{t("newCapture.correctFirst")}</p>
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
                ? formatMessage(data.refusal) || t("error.forbidden")
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
  /** The server's error for these hosts. */
  refused: string | undefined;
  onChange: (some: Partial<CaptureDraft>) => void;
}

/** Form fields for hosts, plan, duration and reason. */
function PlanFields({ draft, hosts, refused, onChange }: PlanProps) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const [dialog] = useDialogState();
  const plans = usePlans();
  const known = plans.data?.find((plan) => plan.id === draft.plan);
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
        data-autofocus={dialog.on.length === 0 || undefined}
      />
      <Select
        label={t("captures.plan")}
        data={[
          ...(plans.data ?? []).map((plan) => ({
            value: plan.id,
            label: `${localize(plan.title)} · ${t(`tier.${plan.tier}.name`)}`,
          })),
          { value: CUSTOM_PLAN, label: t("newCapture.custom") },
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
      />
    </div>
  );
}

/** Tier, duration and cost of the capture in one line, and the reason if it is not allowed. */
function Summary({ data, refusal }: { data: Preview | undefined; refusal: string | undefined }) {
  const { t } = useTranslation();
  const cost = data && expectedCost(data);
  return (
    <span className={classes.summary}>
      {data && cost && (
        <>
          <TierTag tier={data.tier} />
          <span>{t("newCapture.takes", { seconds: data.total_seconds })}</span>
          <span>
            {t("newCapture.cost", { cpu: formatNumber(cost.cpu_pct), bytes: formatBytes(cost.bytes) })}
          </span>
        </>
      )}
      {refusal && <StatusIcon tone="bad">{refusal}</StatusIcon>}
    </span>
  );
}
