import { SegmentedControl, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { Cause, Rule, Threshold } from "../../client/types";
import { Page } from "../../components/Page";
import { Split } from "../../components/Split";
import { Empty, Loaded, RowSkeleton } from "../../components/States";
import { usePick } from "../../lib/i18n";
import { get, keys, useCauses, useRules } from "../../lib/queries";
import { choiceField, textField, useUrlState } from "../../lib/urlState";
import { useSlashFocus } from "../../lib/useSlashFocus";
import { CauseDetail } from "./CauseDetail";
import { Overrides } from "./Overrides";
import { RuleDetail } from "./RuleDetail";
import classes from "./Rules.module.css";

const VIEWS = ["rules", "causes", "changed"] as const;
const FIELDS = { view: choiceField(VIEWS, "rules"), q: textField, rule: textField, cause: textField };

/** What this platform knows: every rule with its thresholds and where they are from, every cause that it may name. */
export function RulesPage() {
  const { t } = useTranslation();
  const [state, set] = useUrlState(FIELDS);
  const search = useSlashFocus();
  const rules = useRules();
  const causes = useCauses();
  const thresholds = useQuery({ queryKey: keys.thresholds, queryFn: () => get<Threshold[]>("/thresholds") });
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
      {state.view === "changed" && <Overrides query={thresholds} />}
      {state.view === "rules" && (
        <Loaded query={rules} skeleton={<RowSkeleton rows={14} />}>
          {(all) => <RuleList rules={all} changed={thresholds.data ?? []} />}
        </Loaded>
      )}
      {state.view === "causes" && (
        <Loaded query={causes} skeleton={<RowSkeleton rows={14} />}>
          {(all) => <CauseList causes={all} />}
        </Loaded>
      )}
    </Page>
  );
}

function RuleList({ rules, changed }: { rules: ReadonlyMap<string, Rule>; changed: readonly Threshold[] }) {
  const pick = usePick();
  const [state] = useUrlState(FIELDS);
  const shown = matching(
    [...rules.values()],
    state.q,
    (one) => `${one.id} ${pick(one.title)} ${one.measure}`,
  );
  const chosen = rules.get(state.rule) ?? (state.rule ? undefined : shown[0]);
  const moved = new Set(changed.map((one) => one.name.split(".")[0]));
  return (
    <Pick
      items={shown.map((one) => ({ id: one.id, title: pick(one.title), mark: moved.has(one.id) }))}
      name="rule"
      chosen={chosen?.id}
    >
      {chosen && <RuleDetail rule={chosen} changed={changed} />}
    </Pick>
  );
}

function CauseList({ causes }: { causes: ReadonlyMap<string, Cause> }) {
  const pick = usePick();
  const [state] = useUrlState(FIELDS);
  const shown = matching([...causes.values()], state.q, (one) => `${one.id} ${pick(one.title)}`);
  const chosen = causes.get(state.cause) ?? (state.cause ? undefined : shown[0]);
  return (
    <Pick
      items={shown.map((one) => ({ id: one.id, title: pick(one.title), mark: false }))}
      name="cause"
      chosen={chosen?.id}
    >
      {chosen && <CauseDetail cause={chosen} />}
    </Pick>
  );
}

function matching<T>(items: readonly T[], q: string, text: (item: T) => string): T[] {
  const needle = q.trim().toLowerCase();
  return items.filter((one) => text(one).toLowerCase().includes(needle));
}

interface PickProps {
  items: readonly { id: string; title: string; mark: boolean }[];
  name: "rule" | "cause";
  chosen: string | undefined;
  children: React.ReactNode;
}

/** The list of rules or of causes; those with a changed threshold say so. */
function Pick({ items, name, chosen, children }: PickProps) {
  const { t } = useTranslation();
  const [state, set] = useUrlState(FIELDS);
  const asked = state[name] !== "";
  const title = (one: PickProps["items"][number]) => (
    <>
      {one.title}
      {one.mark && <em className={classes.moved}>{t("rules.changed")}</em>}
    </>
  );
  return (
    <Split
      items={items.map((one) => ({
        id: one.id,
        title: title(one),
        note: <span className="mono">{one.id}</span>,
      }))}
      label={t(`rules.view.${name === "rule" ? "rules" : "causes"}`)}
      nothing={t("rules.nothing")}
      chosen={chosen}
      asked={asked}
      onChoose={(id) => set({ [name]: id }, { push: id !== "" })}
      back={t("rules.back")}
    >
      {children ?? (asked && <Empty title={t("rules.unknown", { id: state[name] })} />)}
    </Split>
  );
}
