import { Button, SegmentedControl, TextInput } from "@mantine/core";
import { ArrowLeft, FileCheck } from "lucide-react";
import type { PlaybookSummary } from "../../client/models";
import { BlockSkeleton, EmptyState, QueryContent, RowSkeleton } from "../../components/EmptyState";
import { Page } from "../../components/Page";
import { SplitPane } from "../../components/SplitPane";
import { usePlaybook, usePlaybooks } from "../../lib/queries";
import { useLocalized } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import { useUrlState } from "../../lib/urlState";
import { useSlashFocus } from "../../lib/useSlashFocus";
import { CustomPlaybookCheck } from "./CustomPlaybookCheck";
import { FIELDS, KINDS } from "./fields";
import { PlaybookDetail } from "./PlaybookDetail";
import classes from "./Playbooks.module.css";

/** Playbook catalog, dry runs and validation of custom playbooks. */
export function PlaybooksPage() {
  const { t } = useTranslation();
  const [state, set] = useUrlState(FIELDS);
  const search = useSlashFocus();
  const playbooks = usePlaybooks();
  const kinds = ["", ...KINDS].map((kind) => {
    const n = playbooks.data?.filter((playbook) => kind === "" || playbook.kind === kind).length;
    const name = t(`playbooks.kinds.${(kind || "all") as (typeof KINDS)[number] | "all"}`);
    return { value: kind, label: n === undefined ? name : `${name} ${n}` };
  });
  return (
    <Page
      title={t("nav.playbooks")}
      meta={<span>{t("playbooks.text")}</span>}
      actions={
        <Button
          size="xs"
          variant="default"
          leftSection={state.custom ? <ArrowLeft size={14} /> : <FileCheck size={14} />}
          onClick={() => set({ custom: !state.custom }, { push: true })}
        >
          {state.custom ? t("playbooks.toCatalog") : t("playbooks.custom")}
        </Button>
      }
    >
      {state.custom ? (
        <CustomPlaybookCheck />
      ) : (
        <>
          <div className={classes.tools} data-open={state.playbook !== "" || undefined}>
            <div className={classes.kinds}>
              <SegmentedControl
                size="xs"
                data={kinds}
                value={state.kind}
                onChange={(kind) => set({ kind: kind as (typeof KINDS)[number] | "" })}
                aria-label={t("playbooks.kind")}
              />
            </div>
            <TextInput
              ref={search}
              size="xs"
              className={classes.search ?? ""}
              aria-label={t("playbooks.search")}
              placeholder={`${t("playbooks.search")}  /`}
              value={state.q}
              onChange={(event) => set({ q: event.currentTarget.value })}
            />
          </div>
          <QueryContent query={playbooks} skeleton={<RowSkeleton rows={14} />}>
            {(all) => <PlaybookList all={all} />}
          </QueryContent>
        </>
      )}
    </Page>
  );
}

/** List of playbooks next to the selected playbook; a narrow screen shows either the list or the playbook. */
function PlaybookList({ all }: { all: readonly PlaybookSummary[] }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const [state, set] = useUrlState(FIELDS);
  const needle = state.q.trim().toLowerCase();
  const matches = all.filter(
    (playbook) =>
      (state.kind === "" || playbook.kind === state.kind) && searchText(playbook).includes(needle),
  );
  const known = all.some((playbook) => playbook.id === state.playbook);
  const selectedId = known || state.playbook === "" ? state.playbook || (matches[0]?.id ?? "") : "";
  const sizes = (playbook: PlaybookSummary) =>
    [
      t(`playbooks.kindOf.${playbook.kind}`),
      playbook.steps > 0 && t("playbooks.steps", { count: playbook.steps }),
      playbook.remediations > 0 && t("playbooks.remediations", { count: playbook.remediations }),
    ].filter(Boolean);
  return (
    <SplitPane
      items={matches.map((playbook) => ({
        id: playbook.id,
        title: localize(playbook.title),
        note: sizes(playbook).join(" · "),
      }))}
      label={t("nav.playbooks")}
      emptyText={t("playbooks.nothing")}
      chosen={selectedId}
      isItemOpen={state.playbook !== ""}
      onChoose={(playbook) => set({ playbook }, { push: playbook !== "" })}
      back={t("playbooks.back")}
    >
      {selectedId ? (
        <SelectedPlaybook id={selectedId} />
      ) : (
        state.playbook && <EmptyState title={t("playbooks.unknown", { id: state.playbook })} />
      )}
    </SplitPane>
  );
}

function SelectedPlaybook({ id }: { id: string }) {
  return (
    <QueryContent query={usePlaybook(id)} skeleton={<BlockSkeleton height={480} />}>
      {(playbook) => <PlaybookDetail key={playbook.id} playbook={playbook} />}
    </QueryContent>
  );
}

/** Text that the search covers: titles in both languages, rules and causes. */
const searchText = (playbook: PlaybookSummary): string =>
  [
    playbook.id,
    ...[playbook.title, playbook.symptom].flatMap((text) => [text.en, text.zh]),
    ...playbook.findings,
    ...playbook.causes,
  ]
    .join(" ")
    .toLowerCase();
