import type { Playbook, StepAnswer } from "../../client/models";
import { Link } from "../../components/Link";
import { VerdictIcon } from "../../components/VerdictIcon";
import { cx } from "../../core/cx";
import type { Search } from "../../core/search";
import { usePlaybooks } from "../../lib/queries";
import { useLocalized } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import type { PlaybookStep } from "./api";
import { chooseBranch, END_BRANCH, PLAYBOOK_BRANCH_PREFIX } from "./branches";
import classes from "./Chain.module.css";

const BRANCHES = ["supports", "refutes", "otherwise"] as const;

interface Props {
  playbook: Playbook;
  step: PlaybookStep;
  /** Answer of a step on the path; its verdict selects the branch. */
  answer: StepAnswer | undefined;
}

/** Branches of a step by verdict. */
export function Branches({ playbook, step, answer }: Props) {
  const { t } = useTranslation();
  const taken = answer && chooseBranch(step, answer.verdict);
  const branches = BRANCHES.filter((branch) => branch in step.branches);
  return (
    <ul className={classes.branches} aria-label={t("playbooks.branches")}>
      {branches.map((branch) => (
        <li key={branch} className={cx(classes.branch, branch === taken && classes.takenBranch)}>
          <span className={classes.branchName}>
            {branch !== "otherwise" && <VerdictIcon verdict={branch} />}
            {branches.length === 1 ? t("playbooks.always") : t(`playbooks.branch.${branch}`)}
          </span>
          <span aria-hidden>→</span>
          <span className={classes.target}>
            <BranchTarget playbook={playbook} to={step.branches[branch] ?? END_BRANCH} />
            {branch === taken && <span className={classes.takenMark}>{t("playbooks.taken")}</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}

function BranchTarget({ playbook, to }: { playbook: Playbook; to: string }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const others = usePlaybooks().data;
  if (to === END_BRANCH) return <span className={classes.endBranch}>{t("playbooks.end")}</span>;
  if (to.startsWith(PLAYBOOK_BRANCH_PREFIX)) {
    const id = to.slice(PLAYBOOK_BRANCH_PREFIX.length);
    const title = localize(others?.find((playbook) => playbook.id === id)?.title) || id;
    return (
      <Link to="/playbooks" search={(before: Search): Search => ({ run: before.run, playbook: id })}>
        {t("playbooks.elsewhere", { title })}
      </Link>
    );
  }
  const at = playbook.steps.findIndex((step) => step.id === to);
  return (
    <Link to="." search={true} hash={`step-${to}`}>
      {at + 1} {localize(playbook.steps[at]?.question) || to}
    </Link>
  );
}
