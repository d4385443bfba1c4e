import { useTranslation } from "react-i18next";
import type { Fix, Incident, WrongCause } from "../../client/incidents";
import { Mark, type Tone } from "../../components/Mark";
import { ErrorLine } from "../../components/States";
import { type Look, Verdict } from "../../components/Verdict";
import { symptomStep } from "../../core/chain";
import { cx } from "../../core/cx";
import { percent } from "../../core/format";
import { useOutcomes, useWrite } from "../../lib/incidents";
import { isActive } from "../../lib/queries";
import { useTimeFormat } from "../../lib/useFormat";
import { useNames } from "../../lib/useNames";
import classes from "./Chain.module.css";
import { Conflict } from "./Conflict";
import { type IncidentView, useCauseName } from "./view";

interface Props {
  incident: Incident;
  view: IncidentView;
}

export const FIX_TONES: Record<Fix["state"], Tone> = {
  planned: "idle",
  applied: "busy",
  verified: "ok",
  no_effect: "off",
  worse: "bad",
  no_conclusion: "warn",
  reverted: "off",
};

/** The lower half of the chain: root causes, fixes, and whether they worked. Each missing part is drawn as missing. */
export function ChainEnd({ incident, view }: Props) {
  const { t } = useTranslation();
  const { causes, fixes, may } = incident;
  const tried = fixes.some((one) => one.verifications.length > 0);
  return (
    <>
      {causes.length > 0 ? (
        causes.map((one) => <Cause key={one.hypothesis} incident={incident} view={view} cause={one} />)
      ) : (
        <Gap title={t("incidents.chain.noCause")} />
      )}
      {incident.wrong
        .filter((one) => !causes.some((each) => each.cause === one.cause))
        .map((one) => (
          <li key={one.cause} className={classes.link} data-kind="cause">
            <span className={classes.node} aria-hidden>
              <Verdict look="refutes" />
            </span>
            <CauseTitle incident={incident} cause={one.cause} wrong />
            <NotIt incident={incident} wrong={one} />
          </li>
        ))}
      {fixes.length > 0 ? (
        fixes.map((one) => <FixLink key={one.id} fix={one} view={view} />)
      ) : (
        <Gap title={t("incidents.chain.noFix")}>
          {may.edit && causes.length > 0 && (
            <button
              type="button"
              className={classes.act}
              onClick={() => view.set({ act: "fix", what: causes[0]?.hypothesis ?? "" })}
            >
              {t("incidents.fix.plan")}
            </button>
          )}
        </Gap>
      )}
      {fixes.length > 0 && !tried && (
        <Gap title={t("incidents.chain.notVerified")}>
          {may.edit && (
            <button
              type="button"
              className={classes.act}
              onClick={() => view.set({ act: "verify", what: fixes.at(-1)?.id ?? "" })}
            >
              {t("incidents.verify.title")}
            </button>
          )}
        </Gap>
      )}
      {incident.again && incident.state !== "resolved" && <Again incident={incident} view={view} />}
    </>
  );
}

/** Causes stack: after each fix that worked, the symptom is looked at anew. */
function Again({ incident, view }: Props) {
  const { t } = useTranslation();
  const write = useWrite(incident);
  const fix = incident.fixes.findLast((one) => one.state === "verified");
  const fixed = incident.hypotheses.find((one) => one.id === fix?.hypothesis_id);
  const step = symptomStep(incident.steps, fixed?.key.split("/")[0]);
  const host = fix?.hosts[0] ?? incident.hosts[0]?.id;
  const running = incident.runs.some((one) => one.step && isActive(one.state));
  return (
    <li className={cx(classes.link, classes.again)}>
      <span className={classes.node} aria-hidden>
        <Verdict look="inconclusive" />
      </span>
      <p className={classes.title}>{t("incidents.chain.again")}</p>
      <p className={classes.stand}>{t("incidents.chain.againText")}</p>
      {incident.may.capture && step && host && (
        <button
          type="button"
          className={classes.act}
          disabled={running || write.pending}
          onClick={() => {
            view.set({ step, host, pane: "evidence" });
            write.send({ method: "POST", path: "/step", body: { step, host_id: host, again: true } });
          }}
        >
          {t("incidents.chain.lookAgain")}
        </button>
      )}
      <ErrorLine error={write.error} />
      <Conflict incident={incident} write={write} />
    </li>
  );
}

function Gap({ title, children }: { title: string; children?: React.ReactNode }) {
  return (
    <li className={cx(classes.link, classes.missing)}>
      <span className={classes.node} aria-hidden>
        <Verdict look="absent" />
      </span>
      <p className={classes.title}>{title}</p>
      {children}
    </li>
  );
}

const SURE: Record<"likely" | "confirmed", Look> = { likely: "weak", confirmed: "supports" };

function Cause({ incident, view, cause }: Props & { cause: Incident["causes"][number] }) {
  const { t } = useTranslation();
  const wrong = incident.wrong.find((one) => one.cause === cause.cause);
  return (
    <li className={classes.link} data-kind="cause">
      <span className={classes.node} aria-hidden>
        <Verdict look={wrong ? "refutes" : SURE[cause.confidence]} />
      </span>
      <CauseTitle
        incident={incident}
        cause={cause.cause}
        hypothesis={cause.hypothesis}
        wrong={wrong !== undefined}
      />
      {wrong && <NotIt incident={incident} wrong={wrong} />}
      <p className={classes.stand}>
        <strong>{t(`findings.confidence.${cause.confidence}`)}</strong>
        <Counted cause={cause.cause} />
        {incident.may.edit && (
          <>
            <button
              type="button"
              className={classes.act}
              onClick={() => view.set({ act: "fix", what: cause.hypothesis })}
            >
              {t("incidents.fix.plan")}
            </button>
            {cause.cause && (
              <button
                type="button"
                className={classes.act}
                onClick={() => view.set({ act: "wrong", what: cause.cause })}
              >
                {t(wrong ? "incidents.wrong.change" : "incidents.wrong.button")}
              </button>
            )}
          </>
        )}
      </p>
    </li>
  );
}

interface CauseTitleProps {
  incident: Incident;
  cause: string;
  hypothesis?: string;
  wrong: boolean;
}

function CauseTitle({ incident, cause, hypothesis = "", wrong }: CauseTitleProps) {
  const { t } = useTranslation();
  const name = useCauseName(incident)(cause, hypothesis);
  return (
    <h3 className={classes.title}>
      {t("incidents.chain.cause")}: {wrong ? <s className={classes.struck}>{name}</s> : name}
    </h3>
  );
}

/** How often this cause was it, of all the times that it was named and told. */
function Counted({ cause }: { cause: string }) {
  const { t } = useTranslation();
  const names = useNames();
  const counted = useOutcomes().data?.get(cause);
  if (!counted) return null;
  const instead = Object.entries(counted.instead)
    .map(([one, count]) => `${names.cause(one)}: ${count}`)
    .join("\n");
  return (
    <span title={instead ? `${t("incidents.wrong.truth")}\n${instead}` : undefined}>
      {t("incidents.chain.right", { right: counted.right, all: counted.right + counted.wrong })}
    </span>
  );
}

/** It was named and was not it: what it was, who says so, and the case to test rules with. */
function NotIt({ incident, wrong }: { incident: Incident; wrong: WrongCause }) {
  const { t } = useTranslation();
  const names = useNames();
  return (
    <p className={classes.stand}>
      <Mark tone="bad">{t("incidents.wrong.notIt")}</Mark>
      <span>
        {wrong.true_cause ? t("incidents.wrong.wasIt", { cause: names.cause(wrong.true_cause) }) : ""}
      </span>
      {wrong.note && <q>{wrong.note}</q>}
      {wrong.by && <span>{wrong.by.name}</span>}
      {wrong.pins.length > 0 && <span>{t("incidents.wrong.pins", { count: wrong.pins.length })}</span>}
      {incident.may.bundle && (
        <a className={classes.act} href={`/api/v1/incidents/${incident.id}/bundle`} download>
          {t("incidents.bundle")}
        </a>
      )}
    </p>
  );
}

function FixLink({ fix, view }: { fix: Fix; view: IncidentView }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const last = fix.verifications.at(-1);
  return (
    <li className={classes.link} data-kind="fix">
      <span className={classes.node} aria-hidden>
        <Verdict look={fix.state === "verified" ? "supports" : last ? "inconclusive" : "absent"} />
      </span>
      <button
        type="button"
        className={classes.fix}
        aria-current={view.pane === "fixes" && view.what === fix.id ? "true" : undefined}
        onClick={() => view.set({ pane: "fixes", what: fix.id }, { push: true })}
      >
        <span className={classes.title}>
          {t("incidents.chain.fix")}: {fix.what}
        </span>
        <span className={classes.stand}>
          <Mark tone={FIX_TONES[fix.state]}>{t(`incidents.fix.state.${fix.state}`)}</Mark>
          {fix.applied_at && <span className="num">{time.iso(fix.applied_at)}</span>}
          {last?.result && last.result.change !== null && (
            <span className="num">
              {last.result.change > 0 ? "+" : ""}
              {percent(last.result.change)} [{percent(last.result.low)}, {percent(last.result.high)}]
            </span>
          )}
          {last && last.state !== "done" && (
            <Mark tone={last.state === "failed" ? "bad" : last.state === "cancelled" ? "off" : "busy"}>
              {t(`incidents.verify.state.${last.state}`)}
            </Mark>
          )}
        </span>
      </button>
    </li>
  );
}
