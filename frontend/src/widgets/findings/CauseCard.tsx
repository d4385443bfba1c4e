import type { Finding } from "../../client/models";
import { Tag } from "../../components/StatusIcon";
import { VerdictIcon } from "../../components/VerdictIcon";
import { shortenMiddle } from "../../core/charts/chartScale";
import { processNameOf, toFigure } from "../../core/text/figures";
import { useCauses } from "../../lib/queries";
import { useLocalized } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import type { NamedCause, Subject, TimeAccount } from "./api";
import { FindingNumbers } from "./FindingNumbers";
import classes from "./Findings.module.css";
import { HarmSummary } from "./HarmSummary";
import { CauseEffect } from "./TimeAccounts";

const MAX_FIGURES = 5;
/** Letters that fit into a tag. */
const MAX_TAG = 31;

/** Render the parts of a subject as tags. An empty subject is the whole host. */
export function SubjectTags({ subject, processName = "" }: { subject: Subject; processName?: string }) {
  const { t } = useTranslation();
  const parts = useNames().subject(subject, processName);
  if (parts.length === 0) return <Tag>{t("findings.wholeHost")}</Tag>;
  return parts.map((part) => (
    <Tag key={part} title={part}>
      {shortenMiddle(part, MAX_TAG)}
    </Tag>
  ));
}

interface CauseCardProps {
  cause: NamedCause;
  accounts: readonly TimeAccount[];
  /** Findings of harm, for the first cause. */
  harm?: readonly Finding[];
}

/** Render a named cause: description, harm and fix, then evidence, explained time and consequences. */
export function CauseCard({ cause, accounts, harm }: CauseCardProps) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const names = useNames();
  const about = useCauses().data?.get(cause.id);
  const sure = cause.confidence !== "possible";
  const title = names.cause(cause.id);
  const called = cause.evidence
    .filter((item) => item.subject.pid === cause.scope.pid)
    .map((item) => processNameOf(item.detail))
    .find(Boolean);
  return (
    <article className={classes.cause} data-confidence={cause.confidence}>
      <header className={classes.causeHead}>
        <span className={classes.confidence}>
          <VerdictIcon verdict={sure ? "supports" : "weak"} />
          {t(`findings.confidence.${cause.confidence}`)}
        </span>
        <h3 className={classes.causeTitle}>{title}</h3>
        <span className={classes.tags}>
          <SubjectTags subject={cause.scope} processName={called ?? ""} />
        </span>
      </header>
      {about && <p className={classes.text}>{localize(about.what)}</p>}
      {(about || harm) && (
        <dl className={classes.essence}>
          {harm && (
            <div>
              <dt>{t("findings.harm")}</dt>
              <dd>
                <HarmSummary harm={harm} />
              </dd>
            </div>
          )}
          {about && (
            <div>
              <dt>{t("findings.fix")}</dt>
              <dd className={classes.fix}>{localize(about.fix)}</dd>
            </div>
          )}
        </dl>
      )}
      <FindingNumbers
        figures={cause.evidence.slice(0, MAX_FIGURES).map(toFigure)}
        verdict="supports"
        label={t("findings.evidenceFor", { cause: title })}
        outerSubject={cause.scope}
      />
      {!sure && about && !about.proven && <p className={classes.note}>{t("findings.unproven")}</p>}
      <CauseEffect cause={cause} accounts={accounts} />
      {about && (
        <dl className={classes.remedy}>
          <div>
            <dt>{t("findings.risk")}</dt>
            <dd>{localize(about.risk)}</dd>
          </div>
          <div>
            <dt>{t("findings.verify")}</dt>
            <dd>{localize(about.verify)}</dd>
          </div>
        </dl>
      )}
    </article>
  );
}
