import { Anchor, Button, Checkbox, TagsInput } from "@mantine/core";
import { useState } from "react";
import type { Report, ReportPreview } from "../../client/models";
import { ErrorLine, QueryContent, RowSkeleton } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { DataTable } from "../../components/tables/DataTable";
import { useReportPreview, useUpdateReport } from "../../lib/incidents/reports";
import { useTranslation } from "../../lib/text/useTranslation";
import type { RedactionKind } from "./api";
import { REDACTION_KINDS } from "./api";
import classes from "./Reports.module.css";

/** Redaction of a report: kinds of replaced text, custom words, and a preview of all replacements. */
export function ReportPreviewPanel({ report }: { report: Report }) {
  const { t } = useTranslation();
  const [requested, setRequested] = useState(false);
  const preview = useReportPreview(report, requested);
  return (
    <Panel
      title={t("reports.redaction.title")}
      headerExtra={
        <Anchor href={`/api/v1/reports/${report.id}/preview/page`} target="_blank" rel="noreferrer" size="sm">
          {t("reports.redaction.page")}
        </Anchor>
      }
    >
      <div className={classes.stack}>
        <RedactionKinds key={report.version} report={report} />
        {requested ? (
          <QueryContent query={preview} skeleton={<RowSkeleton rows={6} />}>
            {(preview) => <RedactionPreview preview={preview} />}
          </QueryContent>
        ) : (
          <div>
            <Button variant="default" onClick={() => setRequested(true)}>
              {t("reports.redaction.preview")}
            </Button>
          </div>
        )}
      </div>
    </Panel>
  );
}

function RedactionKinds({ report }: { report: Report }) {
  const { t } = useTranslation();
  const [kinds, setKinds] = useState<readonly RedactionKind[]>(report.kinds);
  const [words, setWords] = useState(report.words);
  const write = useUpdateReport(report);
  const changed =
    JSON.stringify(words) !== JSON.stringify(report.words) ||
    REDACTION_KINDS.some(
      (redactionKind) => kinds.includes(redactionKind) !== report.kinds.includes(redactionKind),
    );
  const locked = !report.permissions.edit;
  return (
    <form
      className={classes.stack}
      onSubmit={(event) => {
        event.preventDefault();
        write.mutate({ kinds, words });
      }}
    >
      <p className={classes.note}>{t("reports.redaction.text")}</p>
      <fieldset className={classes.kinds} disabled={locked}>
        <legend className="visually-hidden">{t("reports.redaction.kinds")}</legend>
        {REDACTION_KINDS.map((redactionKind) => (
          <Checkbox
            key={redactionKind}
            label={t(`reports.kind.${redactionKind}`)}
            checked={kinds.includes(redactionKind)}
            onChange={(event) =>
              setKinds(
                event.currentTarget.checked
                  ? [...kinds, redactionKind]
                  : kinds.filter((kind) => kind !== redactionKind),
              )
            }
          />
        ))}
      </fieldset>
      <TagsInput
        label={t("reports.redaction.words")}
        description={t("reports.redaction.wordsText")}
        disabled={locked}
        value={words}
        onChange={setWords}
      />
      <ErrorLine error={write.error} />
      {!locked && (
        <div>
          <Button type="submit" variant="default" loading={write.isPending} disabled={!changed}>
            {t("reports.redaction.save")}
          </Button>
        </div>
      )}
    </form>
  );
}

function RedactionPreview({ preview }: { preview: ReportPreview }) {
  const { t } = useTranslation();
  if (preview.replaced.length === 0) return <p className={classes.note}>{t("reports.redaction.nothing")}</p>;
  return (
    <>
      <DataTable label={t("reports.redaction.replaced")}>
        <thead>
          <tr>
            <th>{t("reports.redaction.kind")}</th>
            <th>{t("reports.redaction.original")}</th>
            <th>{t("reports.redaction.pseudonym")}</th>
          </tr>
        </thead>
        <tbody>
          {preview.replaced.map((item) => (
            <tr key={`${item.kind} ${item.original}`}>
              <td>{t(`reports.kind.${item.kind}`)}</td>
              <td className={`mono ${classes.original}`}>{item.original}</td>
              <td className="mono">{item.pseudonym}</td>
            </tr>
          ))}
        </tbody>
      </DataTable>
      <ul className={classes.lines} aria-label={t("reports.redaction.lines")}>
        {preview.changed.map((item) => (
          <li key={item.before} className="mono">
            <span className={classes.before}>{item.before}</span>
            <span>{item.after}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
