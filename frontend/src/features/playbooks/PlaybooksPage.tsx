import { Button, SegmentedControl, TextInput } from "@mantine/core";
import { ArrowLeft, FileCheck } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { PlaybookSummary } from "../../client/types";
import { Page } from "../../components/Page";
import { Split } from "../../components/Split";
import { BlockSkeleton, Empty, Loaded, RowSkeleton } from "../../components/States";
import { usePick } from "../../lib/i18n";
import { usePlaybook, usePlaybooks } from "../../lib/queries";
import { useUrlState } from "../../lib/urlState";
import { useSlashFocus } from "../../lib/useSlashFocus";
import { FIELDS, KINDS } from "./fields";
import { OwnCheck } from "./OwnCheck";
import { PlaybookDetail } from "./PlaybookDetail";
import classes from "./Playbooks.module.css";

/** Checklists as data: read one, try it on a run, check one of your own. */
export function PlaybooksPage() {
  const { t } = useTranslation();
  const [state, set] = useUrlState(FIELDS);
  const search = useSlashFocus();
  const playbooks = usePlaybooks();
  const kinds = ["", ...KINDS].map((kind) => {
    const n = playbooks.data?.filter((one) => kind === "" || one.kind === kind).length;
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
          leftSection={state.own ? <ArrowLeft size={14} /> : <FileCheck size={14} />}
          onClick={() => set({ own: !state.own }, { push: true })}
        >
          {state.own ? t("playbooks.toCatalogue") : t("playbooks.own")}
        </Button>
      }
    >
      {state.own ? (
        <OwnCheck />
      ) : (
        <>
          <div className={classes.tools} data-asked={state.playbook !== "" || undefined}>
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
          <Loaded query={playbooks} skeleton={<RowSkeleton rows={14} />}>
            {(all) => <Catalogue all={all} />}
          </Loaded>
        </>
      )}
    </Page>
  );
}

/** A list, and beside it what is chosen; on a narrow screen one or the other. */
function Catalogue({ all }: { all: readonly PlaybookSummary[] }) {
  const { t } = useTranslation();
  const pick = usePick();
  const [state, set] = useUrlState(FIELDS);
  const needle = state.q.trim().toLowerCase();
  const shown = all.filter(
    (one) => (state.kind === "" || one.kind === state.kind) && textOf(one).includes(needle),
  );
  const known = all.some((one) => one.id === state.playbook);
  const chosen = known || state.playbook === "" ? state.playbook || (shown[0]?.id ?? "") : "";
  const sizes = (one: PlaybookSummary) =>
    [
      t(`playbooks.kindOf.${one.kind}`),
      one.steps > 0 && t("playbooks.steps", { count: one.steps }),
      one.cards > 0 && t("playbooks.cards", { count: one.cards }),
    ].filter(Boolean);
  return (
    <Split
      items={shown.map((one) => ({ id: one.id, title: pick(one.title), note: sizes(one).join(" · ") }))}
      label={t("nav.playbooks")}
      nothing={t("playbooks.nothing")}
      chosen={chosen}
      asked={state.playbook !== ""}
      onChoose={(playbook) => set({ playbook }, { push: playbook !== "" })}
      back={t("playbooks.back")}
    >
      {chosen ? (
        <Chosen id={chosen} />
      ) : (
        state.playbook && <Empty title={t("playbooks.unknown", { id: state.playbook })} />
      )}
    </Split>
  );
}

function Chosen({ id }: { id: string }) {
  return (
    <Loaded query={usePlaybook(id)} skeleton={<BlockSkeleton height={480} />}>
      {(playbook) => <PlaybookDetail key={playbook.id} playbook={playbook} />}
    </Loaded>
  );
}

/** All that a search looks at: names in both languages, the rules and causes that it is about. */
const textOf = (one: PlaybookSummary): string =>
  [one.id, ...[one.title, one.symptom].flatMap((text) => [text.en, text.zh]), ...one.findings, ...one.causes]
    .join(" ")
    .toLowerCase();
