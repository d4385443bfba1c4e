import { Anchor } from "@mantine/core";
import type { LocalizedText, Playbook } from "../../client/models";
import { QueryContent } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { PlaybookText } from "../../components/text/PlaybookText";
import { cx } from "../../core/cx";
import { useDryRun } from "../../lib/queries";
import { useLocalized } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import { useUrlState } from "../../lib/urlState";
import { NextPlaybook, ProposedStep, RunPicker } from "./DryRun";
import { FIELDS } from "./fields";
import { Hypotheses } from "./Hypotheses";
import classes from "./Playbooks.module.css";
import { Remediations } from "./Remediations";
import { Steps } from "./Steps";

interface Props {
  playbook: Playbook;
  /** A playbook that is not stored has no dry run. */
  preview?: boolean;
}

/** One playbook: scope, hypotheses, steps and remediations. */
export function PlaybookDetail({ playbook, preview = false }: Props) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const [{ run }] = useUrlState(FIELDS);
  const hasDryRun = !preview && playbook.steps.length > 0;
  const dryRun = useDryRun(playbook.id, hasDryRun ? run : "");
  const result = hasDryRun && run !== "" ? dryRun.data : undefined;
  return (
    <>
      <Panel title={localize(playbook.title)} headerExtra={<span className="mono">{playbook.id}</span>}>
        <p className={classes.symptom}>
          <PlaybookText text={playbook.symptom} />
        </p>
        <div className={classes.bounds}>
          <BoundText title={t("playbooks.covered")} items={playbook.covered} />
          <BoundText title={t("playbooks.notCovered")} items={playbook.not_covered} not />
        </div>
      </Panel>
      {hasDryRun && (
        <Panel title={t("playbooks.dryRun")} headerExtra={t("playbooks.dryRunHint")}>
          <RunPicker />
          {run !== "" && (
            <QueryContent query={dryRun}>
              {(data) => <ProposedStep playbook={playbook} result={data} />}
            </QueryContent>
          )}
        </Panel>
      )}
      {playbook.hypotheses.length > 0 && (
        <Panel flush title={t("playbooks.hypotheses")} headerExtra={t("playbooks.hypothesesHint")}>
          <Hypotheses playbook={playbook} states={result?.hypotheses} />
        </Panel>
      )}
      {playbook.steps.length > 0 && (
        <Panel
          title={t("playbooks.path")}
          headerExtra={
            result && result.gaps.length > 0 ? (
              <span className={classes.gapCount}>{t("playbooks.gaps", { count: result.gaps.length })}</span>
            ) : (
              t("playbooks.steps", { count: playbook.steps.length })
            )
          }
        >
          <Steps playbook={playbook} result={result} />
          {result?.next_playbook && <NextPlaybook id={result.next_playbook} />}
        </Panel>
      )}
      {playbook.dead_ends.length > 0 && (
        <Panel title={t("playbooks.deadEnds")} headerExtra={t("playbooks.deadEndsHint")}>
          <TextLines items={playbook.dead_ends} not />
        </Panel>
      )}
      {playbook.remediations.length > 0 && (
        <Panel
          flush
          title={t(playbook.kind === "reference" ? "playbooks.remediationsTitle" : "playbooks.fixes")}
          headerExtra={t("playbooks.remediations", { count: playbook.remediations.length })}
        >
          <Remediations remediations={playbook.remediations} />
        </Panel>
      )}
      {playbook.verify && (
        <Panel title={t("playbooks.verify")}>
          <p className={classes.line}>
            <PlaybookText text={playbook.verify} />
          </p>
        </Panel>
      )}
      {playbook.references.length > 0 && (
        <Panel title={t("playbooks.references")}>
          <ul className={classes.lines}>
            {playbook.references.map((reference) => (
              <li key={`${reference.title}${reference.url}`}>
                {/^https?:\/\//.test(reference.url) ? (
                  <Anchor href={reference.url} target="_blank" rel="noreferrer">
                    {reference.title}
                  </Anchor>
                ) : (
                  <>
                    {reference.title} <span className="mono dim">{reference.url}</span>
                  </>
                )}
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </>
  );
}

function BoundText({
  title,
  items,
  not = false,
}: {
  title: string;
  items: readonly LocalizedText[];
  not?: boolean;
}) {
  return (
    <div className={cx(classes.bound, not && classes.boundNot)}>
      <h3 className={classes.smallHeading}>{title}</h3>
      <TextLines items={items} not={not} />
    </div>
  );
}

function TextLines({ items, not }: { items: readonly LocalizedText[]; not: boolean }) {
  return (
    <ul className={cx(classes.lines, not && classes.linesNot)}>
      {items.map((bilingual) => (
        <li key={bilingual.en}>
          <PlaybookText text={bilingual} />
        </li>
      ))}
    </ul>
  );
}
