import type { IncidentSummary } from "../../../client/models";
import { RowSkeleton } from "../../../components/EmptyState";
import { Link } from "../../../components/Link";
import { StatusIcon } from "../../../components/StatusIcon";
import { DataTable, rowLinkClass } from "../../../components/tables/DataTable";
import { RelativeTime } from "../../../components/text/RelativeTime";
import { VerdictIcon } from "../../../components/VerdictIcon";
import { shortenHost } from "../../../core/charts/chartScale";
import { cx } from "../../../core/cx";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import { SeverityTag } from "../page/IncidentHeader";
import classes from "../page/Incidents.module.css";
import { SymptomLevels } from "../page/SymptomLevels";
import { STATE_TONES } from "../page/states";

const MAX_HOSTS = 2;
/** Longest host name in the table, in letters. */
const MAX_NAME = 28;

/** Return the first missing part of an incident: cause, fix, proof or closing; undefined for a resolved incident. */
export function findMissingPart({ state, causes, fixes }: IncidentSummary) {
  if (state === "resolved") return undefined;
  if (causes.length === 0) return "cause" as const;
  const inForce = fixes.filter((fixState) => fixState !== "planned" && fixState !== "reverted");
  if (inForce.length === 0) return "fix" as const;
  if (!inForce.includes("verified")) return "proof" as const;
  return "close" as const;
}

/** Table of incidents: state, symptom, hosts, causes, and the first missing part. */
export function IncidentsTable({ items }: { items: readonly IncidentSummary[] }) {
  const { t } = useTranslation();
  const names = useNames();
  // Names of causes that arrive later would make rows higher.
  if (!names.ready) return <RowSkeleton rows={8} height={46} />;
  return (
    <DataTable stack label={t("nav.incidents")}>
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
          <th>{t("incidents.owner.title")}</th>
          <th className="right">{t("incidents.people")}</th>
          <th>{t("incidents.age")}</th>
        </tr>
      </thead>
      <tbody>
        {items.map((incident) => {
          const missing = findMissingPart(incident);
          return (
            <tr key={incident.id} className={rowLinkClass()}>
              <td className="num">
                <Link to="/incidents/$incidentId" params={{ incidentId: incident.id }}>
                  #{incident.number}
                </Link>
              </td>
              <td>
                <SeverityTag level={incident.severity} />
              </td>
              <td>
                <StatusIcon tone={STATE_TONES[incident.state]}>
                  {t(`incidents.state.${incident.state}`)}
                </StatusIcon>
              </td>
              <td className={classes.name}>
                <Link to="/incidents/$incidentId" params={{ incidentId: incident.id }}>
                  {incident.title}
                </Link>
              </td>
              <td className={classes.levelCell}>
                <SymptomLevels symptom={incident.symptom} />
              </td>
              <td className={cx("mono", classes.hostCell)} title={incident.hosts.slice(0, 40).join("\n")}>
                {incident.hosts
                  .slice(0, MAX_HOSTS)
                  .map((host) => shortenHost(host, MAX_NAME))
                  .join(", ")}
                {incident.hosts.length > MAX_HOSTS && (
                  <span className="dim">
                    {" "}
                    {t("captures.more", { count: incident.hosts.length - MAX_HOSTS })}
                  </span>
                )}
              </td>
              <td className={classes.causesCell}>
                {incident.causes.length === 0 && <span className="dim">–</span>}
                {incident.causes.map((cause) => (
                  <span key={cause.hypothesis} className={classes.causeCell}>
                    <VerdictIcon
                      verdict={cause.confidence === "confirmed" ? "supports" : "weak"}
                      label={t(`findings.confidence.${cause.confidence}`)}
                    />{" "}
                    {cause.cause ? names.cause(cause.cause) || "\u00a0" : t("incidents.ownCause")}
                  </span>
                ))}
              </td>
              <td>
                {missing ? (
                  <span className={classes.missing} data-missing={missing}>
                    {t(`incidents.missing.${missing}`)}
                  </span>
                ) : (
                  <span className="dim">–</span>
                )}
              </td>
              <td>{incident.owner?.name ?? <span className="dim">–</span>}</td>
              <td className="num right">{incident.people}</td>
              <td className="num">
                <RelativeTime at={incident.created_at} />
              </td>
            </tr>
          );
        })}
      </tbody>
    </DataTable>
  );
}
