import { useTranslation } from "react-i18next";
import type { IncidentSummary } from "../../client/incidents";
import { Ago } from "../../components/Ago";
import { Grid, rowLink } from "../../components/Grid";
import { Link } from "../../components/Link";
import { Mark } from "../../components/Mark";
import { Verdict } from "../../components/Verdict";
import { useNames } from "../../lib/useNames";
import { Severity } from "./Head";
import classes from "./Incidents.module.css";
import { Levels } from "./Symptom";
import { STATE_TONES } from "./states";

const HOSTS = 2;

/** The first thing that an incident still lacks on its way to a proven cure; undefined where nothing is missing. */
export function missingIn({ state, causes, fixes }: IncidentSummary) {
  if (state === "resolved") return undefined;
  if (causes.length === 0) return "cause" as const;
  const inForce = fixes.filter((one) => one !== "planned" && one !== "reverted");
  if (inForce.length === 0) return "fix" as const;
  if (!inForce.includes("verified")) return "proof" as const;
  return "close" as const;
}

/** Incidents, one a row: what hurts, what it is, and what is missing. */
export function IncidentsTable({ items }: { items: readonly IncidentSummary[] }) {
  const { t } = useTranslation();
  const names = useNames();
  return (
    <Grid stack label={t("nav.incidents")}>
      <thead>
        <tr>
          <th>#</th>
          <th>{t("incidents.severity.short")}</th>
          <th>{t("captures.state")}</th>
          <th>{t("incidents.new.name")}</th>
          <th>{t("incidents.chain.symptom")}</th>
          <th>{t("captures.hosts")}</th>
          <th>{t("incidents.chain.cause")}</th>
          <th>{t("incidents.missing.title")}</th>
          <th className="right">{t("incidents.people")}</th>
          <th>{t("incidents.age")}</th>
        </tr>
      </thead>
      <tbody>
        {items.map((one) => {
          const missing = missingIn(one);
          return (
            <tr key={one.id} className={rowLink()}>
              <td className="num">
                <Link to="/incidents/$incidentId" params={{ incidentId: one.id }}>
                  #{one.number}
                </Link>
              </td>
              <td>
                <Severity level={one.severity} />
              </td>
              <td>
                <Mark tone={STATE_TONES[one.state]}>{t(`incidents.state.${one.state}`)}</Mark>
              </td>
              <td className={classes.name}>
                <Link to="/incidents/$incidentId" params={{ incidentId: one.id }}>
                  {one.title}
                </Link>
              </td>
              <td className={classes.levelCell}>
                <Levels symptom={one.symptom} />
              </td>
              <td className="mono" title={one.hosts.slice(0, 40).join("\n")}>
                {one.hosts.slice(0, HOSTS).join(", ")}
                {one.hosts.length > HOSTS && (
                  <span className="dim"> {t("captures.more", { count: one.hosts.length - HOSTS })}</span>
                )}
              </td>
              <td>
                {one.causes.length === 0 && <span className="dim">–</span>}
                {one.causes.map((cause) => (
                  <span key={cause.hypothesis} className={classes.causeCell}>
                    <Verdict
                      look={cause.confidence === "confirmed" ? "supports" : "weak"}
                      label={t(`findings.confidence.${cause.confidence}`)}
                    />{" "}
                    {cause.cause ? names.cause(cause.cause) : t("incidents.ownCause")}
                  </span>
                ))}
              </td>
              <td>
                {missing ? (
                  <span className={classes.lacks} data-missing={missing}>
                    {t(`incidents.missing.${missing}`)}
                  </span>
                ) : (
                  <span className="dim">–</span>
                )}
              </td>
              <td className="num right">{one.people}</td>
              <td className="num">
                <Ago at={one.created_at} />
              </td>
            </tr>
          );
        })}
      </tbody>
    </Grid>
  );
}
