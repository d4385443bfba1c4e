import type { Incident } from "../../../client/models";
import { StatusIcon, Tag } from "../../../components/StatusIcon";
import { RelativeTime } from "../../../components/text/RelativeTime";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { IncidentOrigin as From } from "../api";
import { type DifferenceGroup, groupDifferences } from "./groupDifferences";
import classes from "./ImportOrigin.module.css";

/** Origin of an imported incident, and differences between its original and its local rule results. */
export function ImportOrigin({ incident, origin }: { incident: Incident; origin: From }) {
  const { t } = useTranslation();
  const compared = origin.compared;
  const counts = compared ? [compared.rule, compared.step, compared.hypothesis] : [];
  const equal = counts.reduce((sum, counted) => sum + counted.equal, 0);
  const total = counts.reduce((sum, counted) => sum + counted.total, 0);
  return (
    <div className={classes.origin}>
      <p className={classes.line}>
        <span>{t("incidents.origin.from", { version: origin.culprit, number: origin.number })}</span>
        {origin.redacted && <Tag>{t("incidents.origin.redacted")}</Tag>}
        <span className="dim">
          {origin.imported_by?.name} <RelativeTime at={origin.imported_at} />
        </span>
      </p>
      {compared ? (
        <StatusIcon tone={compared.difference_count > 0 ? "warn" : "ok"}>
          <span className="num">{t("incidents.origin.verdicts", { equal, total })}</span>
        </StatusIcon>
      ) : (
        <StatusIcon tone="busy">{t("incidents.origin.reading")}</StatusIcon>
      )}
      {compared && compared.difference_count > 0 && (
        <details className={classes.differences}>
          <summary>{t("incidents.origin.differences", { count: compared.difference_count })}</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable list must be reachable by keyboard */}
          <ul className={classes.list} tabIndex={0}>
            {groupDifferences(compared.differences).map((differenceGroup) => (
              <DifferenceItem
                key={JSON.stringify(differenceGroup)}
                incident={incident}
                difference={differenceGroup}
              />
            ))}
          </ul>
          {compared.difference_count > compared.differences.length && (
            <p className="dim">
              {t("incidents.origin.more", { count: compared.difference_count - compared.differences.length })}
            </p>
          )}
        </details>
      )}
    </div>
  );
}

function DifferenceItem({ incident, difference }: { incident: Incident; difference: DifferenceGroup }) {
  const { t } = useTranslation();
  const runs = incident.runs
    .filter((each) => difference.on.includes(each.run_id))
    .sort((a, b) => a.number - b.number);
  const ids = [...difference.on, ...runs.map((each) => each.host_id)];
  const hosts = incident.hosts.filter((each) => ids.includes(each.id)).map((each) => each.name);
  const valueText = (value: string | null) => {
    if (value === null) return t("incidents.origin.nothing");
    if (difference.kind === "step") return t(`playbooks.verdict.${value as "supports"}`);
    if (difference.kind === "hypothesis") return t(`playbooks.status.${value as "open"}`);
    const [state = "", subjects] = value.split(" ");
    return `${t(`incidents.origin.rule.${state as "matched"}`)}${subjects === "1" ? "" : ` ×${subjects}`}`;
  };
  return (
    <li>
      <code>{difference.about}</code> {hosts.join(", ")}{" "}
      {runs.length > 0 && <span className="num dim">{runs.map((each) => `#${each.number}`).join(" ")}</span>}
      <br />
      {t("incidents.origin.original")}: {valueText(difference.original)}; {t("incidents.origin.local")}:{" "}
      {valueText(difference.local)}{" "}
      <span className="dim">({t(`incidents.origin.why.${difference.why}`)})</span>
    </li>
  );
}
