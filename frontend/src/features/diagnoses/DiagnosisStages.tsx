import { UnstyledButton } from "@mantine/core";
import { ChevronDown, ChevronRight } from "lucide-react";
import type { Diagnosis } from "../../client/models";
import { BlockSkeleton, QueryContent } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { RunStateIcon, StatusIcon, TierTag } from "../../components/StatusIcon";
import { formatMilliseconds, formatNumber, formatSeconds } from "../../core/text/format";
import { useCaptureStream } from "../../lib/captures/useCaptureStream";
import { isActive } from "../../lib/queries";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { listField, useUrlState } from "../../lib/urlState";
import { RunBars } from "../../widgets/capture-progress/RunBars";
import { NamedCauses } from "../../widgets/findings/NamedCauses";
import type { DiagnosisStage } from "./api";
import classes from "./Diagnoses.module.css";

const FIELDS = { stage: listField };
const MAX_STAGES = 3;

/** Stages in order, each with tier, duration and cost; a running stage shows its progress. */
export function DiagnosisStages({ diagnosis }: { diagnosis: Diagnosis }) {
  const { t } = useTranslation();
  const { stages, state } = diagnosis;
  const running = state === "running";
  const last = stages.at(-1);
  const between = last !== undefined && !isActive(last.state);
  return (
    <ol className={classes.stages}>
      {stages.map((stage, i) => (
        <StageItem key={stage.capture_id} stage={stage} n={i + 1} live={running && i === stages.length - 1} />
      ))}
      {running && stages.length === 0 && (
        <li className={classes.stageNext}>
          <span className={classes.step}>1</span>
          <StatusIcon tone="busy">{t("diagnosis.starting")}</StatusIcon>
        </li>
      )}
      {running && stages.length > 0 && stages.length < MAX_STAGES && (
        <li className={classes.stageNext}>
          <span className={classes.step}>{stages.length + 1}</span>
          {between ? (
            <StatusIcon tone="busy">{t("diagnosis.deciding")}</StatusIcon>
          ) : (
            <span>{t("diagnosis.next")}</span>
          )}
        </li>
      )}
      {!running && stages.length === 0 && (
        <li className={classes.stageNext}>
          <span className={classes.step}>–</span>
          <span>{t("diagnosis.noStage")}</span>
        </li>
      )}
    </ol>
  );
}

function StageItem({ stage, n, live }: { stage: DiagnosisStage; n: number; live: boolean }) {
  const { t } = useTranslation();
  const names = useNames();
  const [{ stage: toggled }, set] = useUrlState(FIELDS);
  const running = live && isActive(stage.state);
  const key = String(n);
  const open = running !== toggled.includes(key);
  const flip = () =>
    set({ stage: toggled.includes(key) ? toggled.filter((item) => item !== key) : [...toggled, key] });
  const what = Object.keys(stage.collectors);
  return (
    <li className={classes.stage}>
      <div className={classes.stageHead}>
        <UnstyledButton
          className={classes.stageFold}
          aria-expanded={open}
          aria-label={t("diagnosis.stageDetails", { n })}
          onClick={flip}
        >
          {open ? <ChevronDown size={14} /> : <ChevronRight size={14} />}
          <span className={classes.step}>{n}</span>
        </UnstyledButton>
        <div>
          <div className={classes.planHead}>
            <strong>{n === 1 ? t("diagnose.stageOne") : t("diagnosis.toSettle")}</strong>
            <RunStateIcon state={stage.state} />
            <TierTag tier={stage.tier} />
          </div>
          <div className={classes.stageText}>
            {n > 1 && <span>{stage.hypotheses.map(names.cause).join(" · ")}</span>}
            <span className="dim" title={what.map(names.collector).join(", ")}>
              {what.length > 3
                ? t("diagnosis.collectors", { count: what.length })
                : what.map(names.collector).join(", ")}
            </span>
          </div>
          {stage.named && (
            <div className={classes.stageText}>
              <span className="dim">
                {t("diagnosis.namedAfter", { time: formatSeconds(stage.named_after_s ?? 0) })}
              </span>
              <NamedCauses named={stage.named} />
            </div>
          )}
        </div>
        <dl className={classes.cost}>
          <StageCost name={t("diagnosis.length")} value={formatSeconds(stage.seconds)} />
          <StageCost
            name={t("diagnosis.expected")}
            value={t("diagnosis.ofCore", { cpu: formatNumber(stage.cpu_pct) })}
          />
          <StageCost name={t("diagnosis.cpuUsed")} value={formatMilliseconds(stage.host_cpu_ms)} />
        </dl>
        <div className={classes.stageLinks}>
          {stage.run_id && (
            <Link to="/runs/$runId" params={{ runId: stage.run_id }}>
              {t("diagnosis.run")}
            </Link>
          )}
          <Link to="/captures/$captureId" params={{ captureId: stage.capture_id }}>
            {t("captures.one")}
          </Link>
        </div>
      </div>
      {open && <StageRuns captureId={stage.capture_id} />}
    </li>
  );
}

const StageCost = ({ name, value }: { name: string; value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);

function StageRuns({ captureId }: { captureId: string }) {
  const { query, since } = useCaptureStream(captureId);
  return (
    <div className={classes.bars}>
      <QueryContent query={query} skeleton={<BlockSkeleton height={200} />}>
        {(capture) => <RunBars capture={capture} since={since} />}
      </QueryContent>
    </div>
  );
}
