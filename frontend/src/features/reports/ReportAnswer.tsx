import type { Incident, Report } from "../../client/models";
import { BlockSkeleton, QueryContent } from "../../components/EmptyState";
import { ButtonLink } from "../../components/Link";
import { Panel } from "../../components/Page";
import { Tag } from "../../components/StatusIcon";
import { formatPercent } from "../../core/text/format";
import { useIncident } from "../../lib/incidents/incidents";
import { useLocalized } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useNumberName } from "../../lib/text/useNumberName";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Reports.module.css";

/** Cause, impact, fix and proof, as a report frozen now begins. Cause, fix and proof come from the incident. */
export function ReportAnswer({ report }: { report: Report }) {
  const { t } = useTranslation();
  const query = useIncident(report.incident_id);
  return (
    <Panel
      title={t("reports.answer.title")}
      headerExtra={
        <ButtonLink
          size="xs"
          variant="default"
          to="/incidents/$incidentId"
          params={{ incidentId: report.incident_id }}
        >
          {t("reports.answer.open")}
        </ButtonLink>
      }
    >
      <QueryContent query={query} skeleton={<BlockSkeleton height={112} />}>
        {(incident) => <Answers incident={incident} impact={report.impact} />}
      </QueryContent>
    </Panel>
  );
}

function Answers({ incident, impact }: { incident: Incident; impact: string }) {
  const { t } = useTranslation();
  const names = useNames();
  const localize = useLocalized();
  const numberName = useNumberName();
  const rejected = new Set(incident.rejected_causes.map((item) => item.cause));
  const causes = incident.causes.filter((item) => !item.cause || !rejected.has(item.cause));
  const summaries = new Map(incident.hypotheses.map((item) => [item.key, item.summary]));
  const results = incident.fixes.flatMap(
    (fix) => fix.verifications.findLast((item) => item.result)?.result ?? [],
  );
  return (
    <dl className={classes.answer}>
      <dt>{t("reports.answer.cause")}</dt>
      <dd>
        {causes.length === 0 && <span className="dim">{t("reports.answer.noCause")}</span>}
        {causes.map((item) => (
          <p key={item.hypothesis}>
            <strong>{item.cause ? names.cause(item.cause) : localize(summaries.get(item.hypothesis))}</strong>{" "}
            <Tag>{t(`findings.confidence.${item.confidence}`)}</Tag>
          </p>
        ))}
      </dd>
      <dt>{t("reports.field.impact")}</dt>
      <dd>{impact ? impact : <span className="dim">{t("reports.answer.noImpact")}</span>}</dd>
      <dt>{t("reports.answer.fix")}</dt>
      <dd>
        {incident.fixes.length === 0 && <span className="dim">{t("reports.answer.noFix")}</span>}
        {incident.fixes.map((fix) => (
          <p key={fix.id}>
            {fix.what} <Tag>{t(`fixState.${fix.state}`)}</Tag>
          </p>
        ))}
      </dd>
      <dt>{t("reports.answer.proof")}</dt>
      <dd>
        {results.length === 0 && <span className="dim">{t("reports.answer.notVerified")}</span>}
        {results.map((result, i) => (
          <p key={i}>
            {numberName(result.primary.read)}{" "}
            <span className="num">
              {formatPercent(result.change)} [{formatPercent(result.low)}, {formatPercent(result.high)}]
            </span>
          </p>
        ))}
      </dd>
    </dl>
  );
}
