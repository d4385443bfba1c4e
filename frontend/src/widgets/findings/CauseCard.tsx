import { useTranslation } from "react-i18next";
import type { CauseNamed, Subject } from "../../client/types";
import { Link } from "../../components/Link";
import { Tag } from "../../components/Mark";
import { Verdict } from "../../components/Verdict";
import { calledIn, figureOf } from "../../core/figures";
import { usePick } from "../../lib/i18n";
import { useCauses } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import { Figures } from "./Figures";
import classes from "./Findings.module.css";

const SHOWN = 5;

/** What on the host something is about; nothing named is the whole host. */
export function Subjects({ of, called = "" }: { of: Subject; called?: string }) {
  const { t } = useTranslation();
  const parts = useNames().subject(of, called);
  if (parts.length === 0) return <Tag>{t("findings.wholeHost")}</Tag>;
  return parts.map((one) => (
    <Tag key={one} title={one}>
      {one}
    </Tag>
  ));
}

/** A named cause: what it is, the numbers that prove it, what it explains, what to do about it. */
export function CauseCard({ cause }: { cause: CauseNamed }) {
  const { t } = useTranslation();
  const pick = usePick();
  const names = useNames();
  const about = useCauses().data?.get(cause.id);
  const sure = cause.confidence !== "possible";
  const title = names.cause(cause.id);
  const called = cause.evidence
    .filter((one) => one.subject.pid === cause.scope.pid)
    .map((one) => calledIn(one.detail))
    .find(Boolean);
  return (
    <article className={classes.cause} data-confidence={cause.confidence}>
      <header className={classes.causeHead}>
        <span className={classes.confidence}>
          <Verdict look={sure ? "supports" : "weak"} />
          {t(`findings.confidence.${cause.confidence}`)}
        </span>
        <h3 className={classes.causeTitle}>{title}</h3>
        <span className={classes.tags}>
          <Subjects of={cause.scope} called={called ?? ""} />
        </span>
      </header>
      {about && <p className={classes.text}>{pick(about.what)}</p>}
      <Figures
        figures={cause.evidence.slice(0, SHOWN).map(figureOf)}
        look="supports"
        label={t("findings.evidenceFor", { cause: title })}
        within={cause.scope}
      />
      {!sure && about && !about.proven && <p className={classes.note}>{t("findings.unproven")}</p>}
      {cause.explains.length > 0 && (
        <p className={classes.explains}>
          <span className="dim">{t("findings.explains")}</span>{" "}
          {cause.explains.map((id, i) => (
            <span key={id}>
              {i > 0 && ", "}
              <Link to="/rules" search={{ view: "causes", cause: id } as never}>
                {names.cause(id)}
              </Link>
            </span>
          ))}
        </p>
      )}
      {about && (
        <dl className={classes.mend}>
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
