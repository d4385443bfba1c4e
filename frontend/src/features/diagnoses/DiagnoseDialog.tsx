import { Button, MultiSelect, NumberInput, Select, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { Stethoscope } from "lucide-react";
import { useState } from "react";
import { Dialog } from "../../components/Dialog";
import { ErrorLine, ErrorState, RowSkeleton } from "../../components/EmptyState";
import { StatusIcon, TierTag } from "../../components/StatusIcon";
import { cx } from "../../core/cx";
import { isScopeValueValid, SCOPE_EXAMPLES, SCOPE_KINDS, type ScopeKind } from "../../core/hosts/scopes";
import { formatBytes, formatNumber } from "../../core/text/format";
import { useCapturePreview } from "../../lib/captures/useCapturePreview";
import { useDialogState } from "../../lib/dialogs";
import { post, queryKeys, useAction, useCaptures, useHosts, usePermission } from "../../lib/queries";
import { useMessage } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { expectedCost, PreviewTable } from "../../widgets/capture-progress/PreviewTable";
import classes from "./Diagnoses.module.css";

const SECONDS = 8;
const MAX_PEERS = 20;
const READ_STATES = new Set(["done", "partial"]);

/** Dialog that starts a diagnosis: host, scope, baseline and peers, with a preview of its stages. */
export function DiagnoseDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [dialog] = useDialogState();
  const hosts = useHosts({ state: "active" });
  const [host, setHost] = useState<string | null>(dialog.on[0] ?? null);
  const [kind, setKind] = useState<ScopeKind>("host");
  const [value, setValue] = useState("");
  const [seconds, setSeconds] = useState<number | string>(SECONDS);
  const [baseline, setBaseline] = useState("auto");
  const [peers, setPeers] = useState<string[]>(dialog.on.slice(1, 1 + MAX_PEERS));
  const [reason, setReason] = useState("");
  const [once] = useState(() => crypto.randomUUID());
  const choices =
    hosts.data?.map((host) => ({ value: host.id, label: host.name })) ??
    dialog.on.slice(0, 1).map((id) => ({ value: id, label: "…" }));
  const scope = value.trim();
  const fits = kind === "host" || isScopeValueValid(kind, scope);
  const length = Number(seconds) || SECONDS;
  const ready = host !== null && fits;
  const preview = useCapturePreview(
    { host_ids: host ? [host, ...peers] : [], plan: "triage", seconds: length },
    host !== null,
  );
  const allowed = preview.data?.allowed ?? false;
  const start = useAction(
    (hostId: string) =>
      post(
        "/diagnoses",
        {
          host_id: hostId,
          ...(kind === "host" ? {} : { scope: { kind, value: scope } }),
          seconds: length,
          baseline,
          peer_ids: peers,
          reason: reason.trim(),
        },
        once,
      ),
    [queryKeys.diagnoses, queryKeys.captures],
    (diagnosis) => void navigate({ to: "/diagnoses/$diagnosisId", params: { diagnosisId: diagnosis.id } }),
  );
  return (
    <Dialog onClose={onClose} title={t("diagnose.title")} size="64rem">
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (ready && allowed) start.mutate(host);
        }}
      >
        <div className={classes.mainFields}>
          <Select
            label={t("diagnose.host")}
            placeholder={t("diagnose.chooseHost")}
            data={choices}
            value={host}
            onChange={(next) => {
              setHost(next);
              setPeers(peers.filter((peer) => peer !== next));
              setBaseline("auto");
            }}
            searchable
            limit={80}
            data-autofocus={dialog.on.length === 0 || undefined}
          />
          <Select
            label={t("diagnose.scope")}
            data={SCOPE_KINDS.map((scopeKind) => ({
              value: scopeKind,
              label: t(`diagnose.scopes.${scopeKind}`),
            }))}
            value={kind}
            allowDeselect={false}
            onChange={(next) => setKind((next ?? "host") as ScopeKind)}
          />
          <TextInput
            label={t(`diagnose.scopeValue.${kind}`)}
            placeholder={SCOPE_EXAMPLES[kind]}
            disabled={kind === "host"}
            className={cx(classes.value, kind === "host" && classes.wholeHost)}
            required={kind !== "host"}
            value={kind === "host" ? "" : value}
            onChange={(event) => setValue(event.currentTarget.value)}
            error={scope && !fits ? t("diagnose.scopeWrong", { example: SCOPE_EXAMPLES[kind] }) : undefined}
            classNames={{ input: "mono" }}
          />
          <NumberInput
            label={t("diagnose.seconds")}
            min={5}
            max={60}
            clampBehavior="blur"
            suffix=" s"
            value={seconds}
            onChange={setSeconds}
          />
        </div>
        <div className={classes.furtherFields}>
          <BaselineSelect host={host} value={baseline} onChange={setBaseline} />
          <MultiSelect
            label={t("diagnose.peers")}
            placeholder={peers.length === 0 ? t("diagnose.peersHint") : ""}
            data={choices.filter((choice) => choice.value !== host)}
            value={peers}
            onChange={setPeers}
            searchable
            clearable
            limit={80}
            maxValues={MAX_PEERS}
            hidePickedOptions
          />
        </div>
        <TextInput
          label={t("captures.reason")}
          placeholder={t("diagnose.reasonHint")}
          maxLength={500}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          data-autofocus={dialog.on.length > 0 || undefined}
        />
        <TriagePlan preview={preview} hosts={hosts.data ?? []} chosen={host !== null} seconds={length} />
        <div className={classes.bottom}>
          <PreviewError preview={preview} />
          <ErrorLine error={start.error} />
          <Button variant="default" size="sm" onClick={onClose}>
            {t("action.cancel")}
          </Button>
          <Button
            type="submit"
            size="sm"
            leftSection={<Stethoscope size={14} />}
            disabled={!ready || !allowed}
            loading={start.isPending}
          >
            {t("diagnose.start")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The baseline of the numbers: automatic, none, or a healthy run. */
function BaselineSelect(props: { host: string | null; value: string; onChange: (value: string) => void }) {
  const { t } = useTranslation();
  const names = useNames();
  const time = useTimeFormat();
  const captures = useCaptures({ host: props.host ?? undefined }, 50);
  const runs = (props.host ? (captures.data?.items ?? []) : []).flatMap((capture) =>
    capture.runs
      .filter((run) => run.host?.id === props.host && READ_STATES.has(run.state))
      .map((run) => ({
        value: run.id,
        label: `#${capture.number} ${names.plan(capture.plan)} · ${time.iso(capture.created_at)}`,
      })),
  );
  return (
    <Select
      label={t("diagnose.baseline")}
      data={[
        { value: "auto", label: t("diagnose.baselineAuto") },
        { value: "none", label: t("diagnose.baselineNone") },
        ...runs,
      ]}
      value={props.value}
      allowDeselect={false}
      onChange={(next) => props.onChange(next ?? "auto")}
    />
  );
}

interface PlanProps {
  preview: ReturnType<typeof useCapturePreview>;
  hosts: Parameters<typeof PreviewTable>[0]["hosts"];
  chosen: boolean;
  seconds: number;
}

/** The stages: the first always runs, the others only while questions are open. */
function TriagePlan({ preview, hosts, chosen, seconds }: PlanProps) {
  const { t } = useTranslation();
  const can = usePermission();
  const [open, setOpen] = useState(false);
  const data = chosen ? preview.data : undefined;
  const cost = data && expectedCost(data);
  const later = (["standard", "deep"] as const).filter((tier) => can(`capture.${tier}`));
  return (
    <ol className={classes.plan} aria-label={t("newCapture.preview")}>
      <li className={classes.planned}>
        <span className={classes.step}>1</span>
        <div>
          <div className={classes.planHead}>
            <strong>{t("diagnose.stageOne")}</strong>
            <TierTag tier={data?.tier ?? "light"} />
            <span className="num">{t("newCapture.takes", { seconds })}</span>
            {data && cost && (
              <span className="dim">
                {t("newCapture.cost", { cpu: formatNumber(cost.cpu_pct), bytes: formatBytes(cost.bytes) })}
              </span>
            )}
          </div>
          <p className={classes.planText}>
            {data && t("diagnose.stageOneText", { count: data.collectors.length })}
            {data && (
              <Button size="compact-xs" variant="subtle" aria-expanded={open} onClick={() => setOpen(!open)}>
                {open ? t("diagnose.hideCommands") : t("diagnose.showCommands")}
              </Button>
            )}
          </p>
        </div>
      </li>
      {chosen && preview.error && <ErrorState error={preview.error} retry={() => void preview.refetch()} />}
      {chosen && !data && !preview.error && <RowSkeleton rows={1} />}
      {open && data && (
        <li className={classes.commands}>
          <PreviewTable preview={data} hosts={hosts} />
        </li>
      )}
      <li className={classes.planned} data-later="">
        <span className={classes.step}>2–3</span>
        <div>
          <div className={classes.planHead}>
            <strong>{t("diagnose.stageLater")}</strong>
            {later.map((tier) => (
              <TierTag key={tier} tier={tier} />
            ))}
          </div>
          <p className={classes.planText}>
            {later.length > 0 ? t("diagnose.stageLaterText") : t("diagnose.stageLaterNone")}
          </p>
        </div>
      </li>
    </ol>
  );
}

function PreviewError({ preview }: { preview: ReturnType<typeof useCapturePreview> }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const refused = preview.data && !preview.data.allowed;
  return (
    <span className={classes.refusal}>
      {refused && (
        <StatusIcon tone="bad">{formatMessage(preview.data?.refusal) || t("error.forbidden")}</StatusIcon>
      )}
    </span>
  );
}
