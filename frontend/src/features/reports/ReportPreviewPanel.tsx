import { Anchor, Button, Checkbox, TagsInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { REDACTION_KINDS, type RedactionKind, type Report, type ReportPreview } from "../../client/reports";
import { Grid } from "../../components/Grid";
import { Panel } from "../../components/Page";
import { ErrorLine, Loaded, RowSkeleton } from "../../components/States";
import { usePreviewOf, useWriteReport } from "../../lib/reports";
import classes from "./Reports.module.css";

/** What is replaced before anything leaves: the kinds, one's own words, and every replacement to be looked at. */
export function Preview({ report }: { report: Report }) {
  const { t } = useTranslation();
  const [asked, setAsked] = useState(false);
  const preview = usePreviewOf(report, asked);
  return (
    <Panel
      title={t("reports.redaction.title")}
      aside={
        <Anchor href={`/api/v1/reports/${report.id}/preview/page`} target="_blank" rel="noreferrer" size="sm">
          {t("reports.redaction.page")}
        </Anchor>
      }
    >
      <div className={classes.stack}>
        <Kinds key={report.version} report={report} />
        {asked ? (
          <Loaded query={preview} skeleton={<RowSkeleton rows={6} />}>
            {(told) => <Told preview={told} />}
          </Loaded>
        ) : (
          <div>
            <Button variant="default" onClick={() => setAsked(true)}>
              {t("reports.redaction.look")}
            </Button>
          </div>
        )}
      </div>
    </Panel>
  );
}

function Kinds({ report }: { report: Report }) {
  const { t } = useTranslation();
  const [kinds, setKinds] = useState<readonly RedactionKind[]>(report.kinds);
  const [words, setWords] = useState(report.words);
  const write = useWriteReport(report);
  const changed =
    JSON.stringify(words) !== JSON.stringify(report.words) ||
    REDACTION_KINDS.some((one) => kinds.includes(one) !== report.kinds.includes(one));
  const locked = !report.may.edit;
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
        {REDACTION_KINDS.map((one) => (
          <Checkbox
            key={one}
            label={t(`reports.kind.${one}`)}
            checked={kinds.includes(one)}
            onChange={(event) =>
              setKinds(event.currentTarget.checked ? [...kinds, one] : kinds.filter((kind) => kind !== one))
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

function Told({ preview }: { preview: ReportPreview }) {
  const { t } = useTranslation();
  if (preview.replaced.length === 0) return <p className={classes.note}>{t("reports.redaction.nothing")}</p>;
  return (
    <>
      <Grid label={t("reports.redaction.replaced")}>
        <thead>
          <tr>
            <th>{t("reports.redaction.kind")}</th>
            <th>{t("reports.redaction.original")}</th>
            <th>{t("reports.redaction.pseudonym")}</th>
          </tr>
        </thead>
        <tbody>
          {preview.replaced.map((one) => (
            <tr key={`${one.kind} ${one.original}`}>
              <td>{t(`reports.kind.${one.kind}`)}</td>
              <td className={`mono ${classes.original}`}>{one.original}</td>
              <td className="mono">{one.pseudonym}</td>
            </tr>
          ))}
        </tbody>
      </Grid>
      <ul className={classes.lines} aria-label={t("reports.redaction.lines")}>
        {preview.changed.map((one) => (
          <li key={one.before} className="mono">
            <span className={classes.before}>{one.before}</span>
            <span>{one.after}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
