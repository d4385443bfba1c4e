import { useTranslation } from "react-i18next";
import type { Playbook, PlaybookStep, StepAnswer } from "../../client/types";
import { Link } from "../../components/Link";
import { Verdict } from "../../components/Verdict";
import { cx } from "../../core/cx";
import { usePick } from "../../lib/i18n";
import { usePlaybooks } from "../../lib/queries";
import classes from "./Chain.module.css";
import { ELSEWHERE, END, wayOf } from "./reading";

const WAYS = ["supports", "refutes", "otherwise"] as const;

interface Props {
  playbook: Playbook;
  step: PlaybookStep;
  /** Where the step was gone through: its verdict shows which way was taken. */
  answer: StepAnswer | undefined;
}

/** Where each verdict of a step leads. */
export function Ways({ playbook, step, answer }: Props) {
  const { t } = useTranslation();
  const taken = answer && wayOf(step, answer.verdict);
  const ways = WAYS.filter((way) => way in step.then);
  return (
    <ul className={classes.ways} aria-label={t("playbooks.ways")}>
      {ways.map((way) => (
        <li key={way} className={cx(classes.way, way === taken && classes.taken)}>
          <span className={classes.wayName}>
            {way !== "otherwise" && <Verdict look={way} />}
            {ways.length === 1 ? t("playbooks.then") : t(`playbooks.way.${way}`)}
          </span>
          <span aria-hidden>→</span>
          <span className={classes.target}>
            <Target playbook={playbook} to={step.then[way] ?? END} />
            {way === taken && <span className={classes.takenMark}>{t("playbooks.taken")}</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Target({ playbook, to }: { playbook: Playbook; to: string }) {
  const { t } = useTranslation();
  const pick = usePick();
  const others = usePlaybooks().data;
  if (to === END) return <span className={classes.end}>{t("playbooks.end")}</span>;
  if (to.startsWith(ELSEWHERE)) {
    const id = to.slice(ELSEWHERE.length);
    const title = pick(others?.find((one) => one.id === id)?.title) || id;
    return (
      <Link
        to="/playbooks"
        search={((before: Record<string, string>) => ({ run: before.run, playbook: id })) as never}
      >
        {t("playbooks.elsewhere", { title })}
      </Link>
    );
  }
  const at = playbook.steps.findIndex((one) => one.id === to);
  return (
    <Link to="." search={true as never} hash={`step-${to}`}>
      {at + 1} {pick(playbook.steps[at]?.asks) || to}
    </Link>
  );
}
