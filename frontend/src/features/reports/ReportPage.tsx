import { useParams } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Report } from "../../client/reports";
import { Link } from "../../components/Link";
import { Page, Panel } from "../../components/Page";
import { BlockSkeleton, ErrorState } from "../../components/States";
import { useReport } from "../../lib/reports";
import { DraftForm } from "./DraftForm";
import { Preview } from "./Preview";
import classes from "./Reports.module.css";
import { Versions } from "./Versions";

/** One report: the draft that people write, what is replaced in it, what was frozen of it, and who may read that. */
export function ReportPage() {
  const { reportId = "" } = useParams({ strict: false });
  const { t } = useTranslation();
  const query = useReport(reportId);
  if (query.data) return <Known report={query.data} />;
  return (
    <Page title={t("reports.one")}>
      {query.error ? (
        <Panel>
          <ErrorState error={query.error} retry={() => void query.refetch()} />
        </Panel>
      ) : (
        <BlockSkeleton height={520} />
      )}
    </Page>
  );
}

function Known({ report }: { report: Report }) {
  const { t } = useTranslation();
  return (
    <Page
      title={report.title}
      above={
        <Link to="/incidents/$incidentId/reports" params={{ incidentId: report.incident_id } as never}>
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
      <div className={classes.columns}>
        <div className={classes.stack}>
          <Panel title={t("reports.draft")}>
            <DraftForm key={report.version} report={report} />
          </Panel>
          {report.may.names && <Preview report={report} />}
        </div>
        <Versions report={report} />
      </div>
    </Page>
  );
}
