import { Tag } from "../../components/StatusIcon";
import { VerdictIcon } from "../../components/VerdictIcon";
import { calledIn, toFigure } from "../../core/text/figures";
import { useCauses } from "../../lib/queries";
import { useLocalized } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import type { NamedCause, Subject, TimeAccount } from "./api";
import { FindingNumbers } from "./FindingNumbers";
import classes from "./Findings.module.css";
import { CauseEffect } from "./TimeAccounts";

const MAX_FIGURES = 5;

/** Render the parts of a subject as tags. An empty subject is the whole host. */
export function Subjects({ of, called = "" }: { of: Subject; called?: string }) {
  const { t } = useTranslation();
  const parts = useNames().subject(of, called);
  if (parts.length === 0) return <Tag>{t("findings.wholeHost")}</Tag>;
  return parts.map((part) => (
    <Tag key={part} title={part}>
      {part}
    </Tag>
  ));
}

/** Render a named cause: description, evidence, explained time and consequences, and the fix. */
export function CauseCard({ cause, accounts }: { cause: NamedCause; accounts: readonly TimeAccount[] }) {
  const { t } = useTranslation();
  const pick = useLocalized();
  const names = useNames();
  const about = useCauses().data?.get(cause.id);
  const sure = cause.confidence !== "possible";
  const title = names.cause(cause.id);
  const called = cause.evidence
    .filter((item) => item.subject.pid === cause.scope.pid)
    .map((item) => calledIn(item.detail))
    .find(Boolean);
  return (
    <article className={classes.cause} data-confidence={cause.confidence}>
      <header className={classes.causeHead}>
        <span className={classes.confidence}>
          <VerdictIcon look={sure ? "supports" : "weak"} />
          {t(`findings.confidence.${cause.confidence}`)}
        </span>
        <h3 className={classes.causeTitle}>{title}</h3>
        <span className={classes.tags}>
          <Subjects of={cause.scope} called={called ?? ""} />
        </span>
      </header>
      {about && <p className={classes.text}>{pick(about.what)}</p>}
      <FindingNumbers
        figures={cause.evidence.slice(0, MAX_FIGURES).map(toFigure)}
        look="supports"
        label={t("findings.evidenceFor", { cause: title })}
        within={cause.scope}
      />
      {!sure && about && !about.proven && <p className={classes.note}>{t("findings.unproven")}</p>}
      <CauseEffect cause={cause} accounts={accounts} />
      {about && (
        <dl className={classes.remedy}>
          <div>
            <dt>{t("findings.fix")}</dt>
            <dd className={classes.fix}>{pick(about.fix)}</dd>
          </div>
          <div>
            <dt>{t("findings.risk")}</dt>
            <dd>{pick(about.risk)}</dd>
          </div>
          <div>
            <dt>{t("findings.verify")}</dt>
            <dd>{pick(about.verify)}</dd>
          </div>
        </dl>
      )}
    </article>
  );
}
