import { useTranslation } from "react-i18next";
import type { Origin as From, Incident, OriginDifference } from "../../client/incidents";
import { Ago } from "../../components/Ago";
import { Mark, Tag } from "../../components/Mark";
import classes from "./Origin.module.css";

const SHOWN = 20;

/** Where an imported incident is from, and whether its rules say here what they said there. */
export function Origin({ incident, origin }: { incident: Incident; origin: From }) {
  const { t } = useTranslation();
  const compared = origin.compared;
  const counts = compared ? [compared.rule, compared.step, compared.hypothesis] : [];
  const equal = counts.reduce((sum, one) => sum + one.equal, 0);
  const total = counts.reduce((sum, one) => sum + one.total, 0);
  return (
    <div className={classes.origin}>
      <p className={classes.line}>
        <span>{t("incidents.origin.from", { version: origin.culprit, number: origin.number })}</span>
        {origin.redacted && <Tag>{t("incidents.origin.redacted")}</Tag>}
        <span className="dim">
          {origin.imported_by?.name} <Ago at={origin.imported_at} />
        </span>
      </p>
      {compared ? (
        <Mark tone={compared.unequal > 0 ? "warn" : "ok"}>
          <span className="num">{t("incidents.origin.verdicts", { equal, total })}</span>
        </Mark>
      ) : (
        <Mark tone="busy">{t("incidents.origin.reading")}</Mark>
      )}
      {compared && compared.unequal > 0 && (
        <details className={classes.different}>
          <summary>{t("incidents.origin.different", { count: compared.unequal })}</summary>
          <ul className={classes.list}>
            {compared.different.slice(0, SHOWN).map((one) => (
              <Different key={`${one.kind} ${one.about} ${one.on}`} incident={incident} one={one} />
            ))}
          </ul>
          {compared.unequal > SHOWN && (
            <p className="dim">{t("incidents.origin.more", { count: compared.unequal - SHOWN })}</p>
          )}
        </details>
      )}
    </div>
  );
}

function Different({ incident, one }: { incident: Incident; one: OriginDifference }) {
  const { t } = useTranslation();
  const run = incident.runs.find((each) => each.run_id === one.on);
  const host = incident.hosts.find((each) => each.id === (run?.host_id ?? one.on));
  const nothing = t("incidents.origin.nothing");
  return (
    <li>
      <code>{one.about}</code> {host?.name} {run && <span className="num dim">#{run.number}</span>}
      <br />
      {t("incidents.origin.there")}: {one.there ?? nothing}; {t("incidents.origin.here")}:{" "}
      {one.here ?? nothing} <span className="dim">({t(`incidents.origin.why.${one.why}`)})</span>
    </li>
  );
}
