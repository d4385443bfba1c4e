import { useParams } from "@tanstack/react-router";
import type { Report } from "../../client/models";
import { BlockSkeleton } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { LoadingPage } from "../../components/LoadingPage";
import { Page, Panel } from "../../components/Page";
import { useIncident } from "../../lib/incidents/incidents";
import { useReport } from "../../lib/incidents/reports";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { DraftForm } from "./DraftForm";
import { ReportAnswer } from "./ReportAnswer";
import { ReportPreviewPanel } from "./ReportPreviewPanel";
import classes from "./Reports.module.css";
import { ReportVersions } from "./ReportVersions";

/** Page of a report: draft, redaction, frozen versions and share links. */
export function ReportPage() {
  const { reportId = "" } = useParams({ strict: false });
  const { t } = useTranslation();
  const query = useReport(reportId);
  // The answer is from the incident. If it arrived later than the draft, it would move the draft.
  const incident = useIncident(query.data?.incident_id ?? "");
  const isReady = useNames().ready && !incident.isPending;
  if (query.data && isReady) return <ReportContent report={query.data} />;
  return (
    <LoadingPage
      title={t("reports.one")}
      above={<Link to="/incidents">{t("nav.incidents")}</Link>}
      query={query}
    >
      <BlockSkeleton height={160} />
      <div className={classes.columns}>
        <BlockSkeleton height={620} />
        <BlockSkeleton height={240} />
      </div>
    </LoadingPage>
  );
}

function ReportContent({ report }: { report: Report }) {
  const { t } = useTranslation();
  return (
    <Page
      title={report.title}
      above={
        <Link to="/incidents/$incidentId/reports" params={{ incidentId: report.incident_id }}>
          {t("reports.of", { number: report.number })}
        </Link>
      }
      meta={
        <>
          <span>{t(`reports.preset.${report.preset}`)}</span>
          <span>{t(`reports.language.${report.language}`)}</span>
          <span className="num">{report.zone}</span>
        </>
      }
    >
      <ReportAnswer report={report} />
      <div className={classes.columns}>
        <div className={classes.stack}>
          <Panel title={t("reports.draft")}>
            <DraftForm key={report.version} report={report} />
          </Panel>
          {report.permissions.names && <ReportPreviewPanel report={report} />}
        </div>
        <ReportVersions report={report} />
      </div>
    </Page>
  );
}
