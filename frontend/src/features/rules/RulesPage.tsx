import { SegmentedControl, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { Cause, Rule } from "../../client/models";
import { EmptyState, QueryContent, RowSkeleton } from "../../components/EmptyState";
import { Page } from "../../components/Page";
import { SplitPane } from "../../components/SplitPane";
import { get, queryKeys, useCauses, useRules } from "../../lib/queries";
import { useLocalized } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import { choiceField, textField, useUrlState } from "../../lib/urlState";
import { useSlashFocus } from "../../lib/useSlashFocus";
import type { Threshold } from "./api";
import { CauseDetail } from "./CauseDetail";
import { RuleDetail } from "./RuleDetail";
import classes from "./Rules.module.css";
import { ThresholdOverrides } from "./ThresholdOverrides";

const VIEWS = ["rules", "causes", "changed"] as const;
const FIELDS = { view: choiceField(VIEWS, "rules"), q: textField, rule: textField, cause: textField };

/** Rules with their thresholds and sources, causes, and changed thresholds. */
export function RulesPage() {
  const { t } = useTranslation();
  const [state, set] = useUrlState(FIELDS);
  const search = useSlashFocus();
  const rules = useRules();
  const causes = useCauses();
  const thresholds = useQuery({ queryKey: queryKeys.thresholds, queryFn: () => get("/thresholds") });
  const counted = (view: (typeof VIEWS)[number]) => {
    const n = { rules: rules.data?.size, causes: causes.data?.size, changed: thresholds.data?.length }[view];
    return n === undefined ? t(`rules.view.${view}`) : `${t(`rules.view.${view}`)} ${n}`;
  };
  return (
    <Page title={t("nav.rules")} meta={<span>{t("rules.text")}</span>}>
      <div className={classes.tools}>
        <SegmentedControl
          size="xs"
          data={VIEWS.map((view) => ({ value: view, label: counted(view) }))}
          value={state.view}
          onChange={(view) => set({ view: view as (typeof VIEWS)[number] }, { push: true })}
          aria-label={t("rules.what")}
        />
        {state.view !== "changed" && (
          <TextInput
            ref={search}
            size="xs"
            className={classes.search ?? ""}
            aria-label={t("rules.search")}
            placeholder={`${t("rules.search")}  /`}
            value={state.q}
            onChange={(event) => set({ q: event.currentTarget.value })}
          />
        )}
      </div>
      {state.view === "changed" && <ThresholdOverrides query={thresholds} />}
      {state.view === "rules" && (
        <QueryContent query={rules} skeleton={<RowSkeleton rows={14} />}>
          {(all) => <RuleList rules={all} changed={thresholds.data ?? []} />}
        </QueryContent>
      )}
      {state.view === "causes" && (
        <QueryContent query={causes} skeleton={<RowSkeleton rows={14} />}>
          {(all) => <CauseList causes={all} />}
        </QueryContent>
      )}
    </Page>
  );
}

function RuleList({ rules, changed }: { rules: ReadonlyMap<string, Rule>; changed: readonly Threshold[] }) {
  const localize = useLocalized();
  const [state] = useUrlState(FIELDS);
  const visible = filterByText(
    [...rules.values()],
    state.q,
    (rule) => `${rule.id} ${localize(rule.title)} ${rule.measure}`,
  );
  const chosen = rules.get(state.rule) ?? (state.rule ? undefined : visible[0]);
  const changedRules = new Set(changed.map((threshold) => threshold.name.split(".")[0]));
  return (
    <CatalogSplitPane
      items={visible.map((rule) => ({
        id: rule.id,
        title: localize(rule.title),
        mark: changedRules.has(rule.id),
      }))}
      name="rule"
      chosen={chosen?.id}
    >
      {chosen && <RuleDetail rule={chosen} changed={changed} />}
    </CatalogSplitPane>
  );
}

function CauseList({ causes }: { causes: ReadonlyMap<string, Cause> }) {
  const localize = useLocalized();
  const [state] = useUrlState(FIELDS);
  const visible = filterByText(
    [...causes.values()],
    state.q,
    (cause) => `${cause.id} ${localize(cause.title)}`,
  );
  const chosen = causes.get(state.cause) ?? (state.cause ? undefined : visible[0]);
  return (
    <CatalogSplitPane
      items={visible.map((cause) => ({ id: cause.id, title: localize(cause.title), mark: false }))}
      name="cause"
      chosen={chosen?.id}
    >
      {chosen && <CauseDetail cause={chosen} />}
    </CatalogSplitPane>
  );
}

function filterByText<T>(items: readonly T[], q: string, text: (item: T) => string): T[] {
  const needle = q.trim().toLowerCase();
  return items.filter((item) => text(item).toLowerCase().includes(needle));
}

interface CatalogSplitPaneProps {
  items: readonly { id: string; title: string; mark: boolean }[];
  name: "rule" | "cause";
  chosen: string | undefined;
  children: React.ReactNode;
}

/** List of rules or causes next to the selected item; rules with a changed threshold are marked. */
function CatalogSplitPane({ items, name, chosen, children }: CatalogSplitPaneProps) {
  const { t } = useTranslation();
  const [state, set] = useUrlState(FIELDS);
  const isItemOpen = state[name] !== "";
  const title = (item: CatalogSplitPaneProps["items"][number]) => (
    <>
      {item.title}
      {item.mark && <em className={classes.changed}>{t("rules.changed")}</em>}
    </>
  );
  return (
    <SplitPane
      items={items.map((item) => ({
        id: item.id,
        title: title(item),
        note: <span className="mono">{item.id}</span>,
      }))}
      label={t(`rules.view.${name === "rule" ? "rules" : "causes"}`)}
      emptyText={t("rules.nothing")}
      chosen={chosen}
      isItemOpen={isItemOpen}
      onChoose={(id) => set({ [name]: id }, { push: id !== "" })}
      back={t("rules.back")}
    >
      {children ?? (isItemOpen && <EmptyState title={t("rules.unknown", { id: state[name] })} />)}
    </SplitPane>
  );
}
