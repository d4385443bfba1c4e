import { useTranslation } from "react-i18next";
import type { Origin as From, Incident } from "../../client/incidents";
import { Ago } from "../../components/Ago";
import { Mark, Tag } from "../../components/Mark";
import { type Alike, alike } from "./alike";
import classes from "./Origin.module.css";

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
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
          <ul className={classes.list} tabIndex={0}>
            {alike(compared.different).map((one) => (
              <Different key={JSON.stringify(one)} incident={incident} one={one} />
            ))}
          </ul>
          {compared.unequal > compared.different.length && (
            <p className="dim">
              {t("incidents.origin.more", { count: compared.unequal - compared.different.length })}
            </p>
          )}
        </details>
      )}
    </div>
  );
}

function Different({ incident, one }: { incident: Incident; one: Alike }) {
  const { t } = useTranslation();
  const runs = incident.runs
    .filter((each) => one.on.includes(each.run_id))
    .sort((a, b) => a.number - b.number);
  const ids = [...one.on, ...runs.map((each) => each.host_id)];
  const hosts = incident.hosts.filter((each) => ids.includes(each.id)).map((each) => each.name);
  const said = (value: string | null) => {
    if (value === null) return t("incidents.origin.nothing");
    if (one.kind === "step") return t(`playbooks.verdict.${value as "supports"}`);
    if (one.kind === "hypothesis") return t(`playbooks.standing.${value as "open"}`);
    const [state = "", subjects] = value.split(" ");
    return `${t(`incidents.origin.rule.${state as "fired"}`)}${subjects === "1" ? "" : ` ×${subjects}`}`;
  };
  return (
    <li>
      <code>{one.about}</code> {hosts.join(", ")}{" "}
      {runs.length > 0 && <span className="num dim">{runs.map((each) => `#${each.number}`).join(" ")}</span>}
      <br />
      {t("incidents.origin.there")}: {said(one.there)}; {t("incidents.origin.here")}: {said(one.here)}{" "}
      <span className="dim">({t(`incidents.origin.why.${one.why}`)})</span>
    </li>
  );
}
