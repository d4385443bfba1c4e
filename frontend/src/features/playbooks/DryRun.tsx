import { Button, Select } from "@mantine/core";
import { Plus } from "lucide-react";
import type { DryRunResult, Playbook, RunSummary } from "../../client/models";
import { Link } from "../../components/Link";
import { TierTag } from "../../components/StatusIcon";
import { PlaybookText } from "../../components/text/PlaybookText";
import { VerdictIcon } from "../../components/VerdictIcon";
import { useOpenDialog } from "../../lib/dialogs";
import { isActive, useCaptures, usePermission, usePlaybooks, useRun } from "../../lib/queries";
import { useLocalized, useMessage } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { useUrlState } from "../../lib/urlState";
import { useHypothesisText } from "./branches";
import { FIELDS } from "./fields";
import classes from "./Playbooks.module.css";

const MAX_RUNS = 60;

/** Select of the newest runs; it also contains the run of the URL. */
export function RunPicker() {
  const { t } = useTranslation();
  const names = useNames();
  const time = useTimeFormat();
  const [{ run }, set] = useUrlState(FIELDS);
  const captures = useCaptures({}, MAX_RUNS);
  const selected = useRun(run).data;
  const label = (run: Pick<RunSummary, "host" | "started_at">, number: number, plan: string) =>
    [
      `#${number} ${names.plan(plan)}`,
      run.host?.name ?? t("captures.noHost"),
      ...(run.started_at ? [time.iso(run.started_at)] : []),
    ].join(" · ");
  const runs = (captures.data?.items ?? []).flatMap((capture) =>
    capture.runs
      .filter((run) => !isActive(run.state) && run.state !== "failed" && run.state !== "canceled")
      .map((run) => ({ value: run.id, label: label(run, capture.number, capture.plan) })),
  );
  if (selected && !runs.some((run) => run.value === selected.id))
    runs.unshift({
      value: selected.id,
      label: label(selected, selected.capture.number, selected.capture.plan),
    });
  return (
    <div className={classes.picker}>
      <Select
        size="xs"
        className={classes.run ?? ""}
        label={t("playbooks.run")}
        placeholder={t("playbooks.runHint")}
        data={runs}
        value={run || null}
        onChange={(value) => set({ run: value ?? "" }, { push: true })}
        searchable
        clearable
        clearButtonProps={{ "aria-label": t("playbooks.noRun") }}
        nothingFoundMessage={t("playbooks.nothing")}
        limit={80}
      />
      {run !== "" && (
        <Link to="/runs/$runId" params={{ runId: run }}>
          {t("playbooks.openRun")}
        </Link>
      )}
    </div>
  );
}

/** Proposed next step: the step, the reason, its collectors and their tier. */
export function ProposedStep({ playbook, result }: { playbook: Playbook; result: DryRunResult }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const formatMessage = useMessage();
  const names = useNames();
  const can = usePermission();
  const openDialog = useOpenDialog();
  const about = useHypothesisText(playbook);
  const host = useRun(result.run_id).data?.host?.id;
  const { next } = result;
  if (!next)
    return (
      <p className={classes.nothingLeft}>
        <VerdictIcon verdict={result.gaps.length > 0 ? "absent" : "supports"} />
        {t(result.gaps.length > 0 ? "playbooks.nothingLeft" : "playbooks.answered")}
      </p>
    );
  const at = playbook.steps.findIndex((step) => step.id === next.step);
  const step = playbook.steps[at];
  const { label, summary } = about(step?.about ?? "");
  const why = {
    ...next.why,
    params: {
      ...next.why.params,
      about: summary === label ? label : `${label} (${summary})`,
      tier: t(`tier.${next.tier}.name`),
    },
  };
  return (
    <section className={classes.nextStep} aria-label={t("playbooks.next")}>
      <p className={classes.nextHead}>
        <strong>{t("playbooks.next")}</strong>{" "}
        <Link to="." search={true} hash={`step-${next.step}`}>
          {at + 1} {localize(step?.question)}
        </Link>
      </p>
      <p className={classes.line}>{formatMessage(why)}</p>
      {next.collectors.length === 0 ? (
        <p className={classes.instructions}>
          <span className={classes.dim}>{t("playbooks.person")}</span>{" "}
          <PlaybookText text={step?.instructions} />
        </p>
      ) : (
        <p className={classes.nextActions}>
          {host && can(`capture.${next.tier}`) && (
            <Button
              size="xs"
              leftSection={<Plus size={13} />}
              onClick={() => openDialog("capture", [host], "", next.collectors)}
              className={classes.collect ?? ""}
            >
              {t("findings.collect", { what: next.collectors.map(names.collector).join(", ") })}
            </Button>
          )}
          <TierTag tier={next.tier} />
          <span className="mono dim">{next.collectors.join(" ")}</span>
        </p>
      )}
    </section>
  );
}

/** Link to the next playbook, with the same run. */
export function NextPlaybook({ id }: { id: string }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const [{ run }] = useUrlState(FIELDS);
  const title = localize(usePlaybooks().data?.find((playbook) => playbook.id === id)?.title) || id;
  return (
    <p className={classes.nextPlaybook}>
      {t("playbooks.nextPlaybook")}{" "}
      <Link to="/playbooks" search={{ playbook: id, run }}>
        {title}
      </Link>
    </p>
  );
}
