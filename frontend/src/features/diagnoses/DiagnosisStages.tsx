import { UnstyledButton } from "@mantine/core";
import { ChevronDown, ChevronRight } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Diagnosis, DiagnosisStage } from "../../client/types";
import { Link } from "../../components/Link";
import { Mark, StateMark, TierTag } from "../../components/Mark";
import { BlockSkeleton, Loaded } from "../../components/States";
import { milliseconds, number, seconds } from "../../core/format";
import { isActive } from "../../lib/queries";
import { listField, useUrlState } from "../../lib/urlState";
import { useCaptureStream } from "../../lib/useCaptureStream";
import { useNames } from "../../lib/useNames";
import { RunBars } from "../../renderers/capture/RunBars";
import classes from "./Diagnoses.module.css";

const FIELDS = { stage: listField };
const MOST = 3;

/** What ran in order, each stage with its tier, length and cost; the one that runs shows its bars. */
export function Stages({ diagnosis }: { diagnosis: Diagnosis }) {
  const { t } = useTranslation();
  const { stages, state } = diagnosis;
  const running = state === "running";
  const last = stages.at(-1);
  const between = last !== undefined && !isActive(last.state);
  return (
    <ol className={classes.stages}>
      {stages.map((stage, i) => (
        <Stage key={stage.capture_id} stage={stage} n={i + 1} live={running && i === stages.length - 1} />
      ))}
      {running && stages.length === 0 && (
        <li className={classes.stageNext}>
          <span className={classes.step}>1</span>
          <Mark tone="busy">{t("diagnosis.starting")}</Mark>
        </li>
      )}
      {running && stages.length > 0 && stages.length < MOST && (
        <li className={classes.stageNext}>
          <span className={classes.step}>{stages.length + 1}</span>
          {between ? <Mark tone="busy">{t("diagnosis.deciding")}</Mark> : <span>{t("diagnosis.next")}</span>}
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

function Stage({ stage, n, live }: { stage: DiagnosisStage; n: number; live: boolean }) {
  const { t } = useTranslation();
  const names = useNames();
  const [{ stage: toggled }, set] = useUrlState(FIELDS);
  const running = live && isActive(stage.state);
  const key = String(n);
  const open = running !== toggled.includes(key);
  const flip = () =>
    set({ stage: toggled.includes(key) ? toggled.filter((one) => one !== key) : [...toggled, key] });
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
        <div className={classes.stageWhat}>
          <div className={classes.planHead}>
            <strong>{n === 1 ? t("diagnose.stageOne") : t("diagnosis.toSettle")}</strong>
            <StateMark state={stage.state} />
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
        </div>
        <dl className={classes.cost}>
          <Cost name={t("diagnosis.length")} value={seconds(stage.seconds)} />
          <Cost
            name={t("diagnosis.expected")}
            value={t("diagnosis.ofCore", { cpu: number(stage.cpu_pct) })}
          />
          <Cost name={t("diagnosis.used")} value={milliseconds(stage.host_cpu_ms)} />
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
      {open && <Bars captureId={stage.capture_id} />}
    </li>
  );
}

const Cost = ({ name, value }: { name: string; value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);

function Bars({ captureId }: { captureId: string }) {
  const { query, since } = useCaptureStream(captureId);
  return (
    <div className={classes.bars}>
      <Loaded query={query} skeleton={<BlockSkeleton height={200} />}>
        {(capture) => <RunBars capture={capture} since={since} />}
      </Loaded>
    </div>
  );
}
