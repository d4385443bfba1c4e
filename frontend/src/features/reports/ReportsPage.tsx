import { Button, TextInput } from "@mantine/core";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import type { ReportPreset, ReportSummary } from "../../client/models";
import { Dialog } from "../../components/Dialog";
import { EmptyState, ErrorLine, QueryContent, RowSkeleton } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { Page, Panel } from "../../components/Page";
import { DataTable } from "../../components/tables/DataTable";
import { RelativeTime } from "../../components/text/RelativeTime";
import { useIncident } from "../../lib/incidents/incidents";
import { useCreateReport, useReports } from "../../lib/incidents/reports";
import { usePermission } from "../../lib/queries";
import { useLocale } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import { flagField, useUrlState } from "../../lib/urlState";
import { LanguageField, PresetField, ZoneField } from "./ReportFields";
import classes from "./Reports.module.css";

const FIELDS = { add: flagField };

/** Reports of an incident. */
export function ReportsPage() {
  const { incidentId = "" } = useParams({ strict: false });
  const { t } = useTranslation();
  const can = usePermission();
  const incident = useIncident(incidentId).data;
  const reports = useReports(incidentId);
  const [view, setView] = useUrlState(FIELDS);
  const begin = (
    <Button leftSection={<Plus size={14} />} onClick={() => setView({ add: true })}>
      {t("reports.new.open")}
    </Button>
  );
  const edits = can("report.edit");
  return (
    <Page
      title={t("reports.title")}
      above={
        <Link to="/incidents/$incidentId" params={{ incidentId }}>
          {incident ? `#${incident.number} ${incident.title}` : t("incidents.one")}
        </Link>
      }
      actions={edits && reports.data && reports.data.length > 0 && begin}
    >
      <Panel flush>
        <QueryContent query={reports} skeleton={<RowSkeleton rows={4} height={29} />}>
          {(rows) =>
            rows.length > 0 ? (
              <ReportsTable reports={rows} />
            ) : (
              <EmptyState title={t("reports.none")} action={edits && begin}>
                {t("reports.noneText")}
              </EmptyState>
            )
          }
        </QueryContent>
      </Panel>
      {view.add && incident && (
        <NewReport incident={incident.id} title={incident.title} onClose={() => setView({ add: false })} />
      )}
    </Page>
  );
}

function ReportsTable({ reports }: { reports: readonly ReportSummary[] }) {
  const { t } = useTranslation();
  return (
    <DataTable stack label={t("reports.title")}>
      <thead>
        <tr>
          <th>{t("reports.field.title")}</th>
          <th>{t("reports.field.preset")}</th>
          <th>{t("reports.field.language")}</th>
          <th className="right">{t("reports.frozen")}</th>
          <th>{t("reports.changed")}</th>
        </tr>
      </thead>
      <tbody>
        {reports.map((report) => (
          <tr key={report.id}>
            <td>
              <Link to="/reports/$reportId" params={{ reportId: report.id }}>
                {report.title}
              </Link>
            </td>
            <td>{t(`reports.preset.${report.preset}`)}</td>
            <td>{t(`reports.language.${report.language}`)}</td>
            <td className="num right">{report.frozen}</td>
            <td>
              <RelativeTime at={report.updated_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}

function NewReport(props: { incident: string; title: string; onClose: () => void }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const navigate = useNavigate();
  const [title, setTitle] = useState(props.title);
  const [language, setLanguage] = useState(locale);
  const [zone, setZone] = useState(() => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC");
  const [preset, setPreset] = useState<ReportPreset>("customer");
  const make = useCreateReport(
    props.incident,
    (report) => void navigate({ to: "/reports/$reportId", params: { reportId: report.id } }),
  );
  return (
    <Dialog onClose={props.onClose} title={t("reports.new.title")} size="36rem">
      <form
        className={classes.stack}
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate({ title: title.trim(), language, zone, preset });
        }}
      >
        <TextInput
          label={t("reports.field.title")}
          required
          value={title}
          onChange={(event) => setTitle(event.currentTarget.value)}
        />
        <div className={classes.row}>
          <PresetField value={preset} onChange={setPreset} />
          <LanguageField value={language} onChange={setLanguage} />
          <ZoneField value={zone} onChange={setZone} />
        </div>
        <p className={classes.note}>{t(`reports.presetText.${preset}`)}</p>
        <ErrorLine error={make.error} />
        <div className={classes.buttons}>
          <Button type="submit" loading={make.isPending} disabled={!title.trim()}>
            {t("reports.new.open")}
          </Button>
          <Button variant="default" onClick={props.onClose}>
            {t("action.cancel")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
