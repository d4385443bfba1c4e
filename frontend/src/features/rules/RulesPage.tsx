import { SegmentedControl, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { Cause, Rule, Threshold } from "../../client/types";
import { Page, Panel } from "../../components/Page";
import { Empty, Loaded, RowSkeleton } from "../../components/States";
import { cx } from "../../core/cx";
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
    <Split
      items={shown.map((one) => ({ id: one.id, title: pick(one.title), mark: moved.has(one.id) }))}
      name="rule"
      chosen={chosen?.id}
    >
      {chosen && <RuleDetail rule={chosen} changed={changed} />}
    </Split>
  );
}

function CauseList({ causes }: { causes: ReadonlyMap<string, Cause> }) {
  const pick = usePick();
  const [state] = useUrlState(FIELDS);
  const shown = matching([...causes.values()], state.q, (one) => `${one.id} ${pick(one.title)}`);
  const chosen = causes.get(state.cause) ?? (state.cause ? undefined : shown[0]);
  return (
    <Split
      items={shown.map((one) => ({ id: one.id, title: pick(one.title), mark: false }))}
      name="cause"
      chosen={chosen?.id}
    >
      {chosen && <CauseDetail cause={chosen} />}
    </Split>
  );
}

function matching<T>(items: readonly T[], q: string, text: (item: T) => string): T[] {
  const needle = q.trim().toLowerCase();
  return items.filter((one) => text(one).toLowerCase().includes(needle));
}

interface SplitProps {
  items: readonly { id: string; title: string; mark: boolean }[];
  name: "rule" | "cause";
  chosen: string | undefined;
  children: React.ReactNode;
}

/** A list, and beside it what is chosen; on a narrow screen one or the other. */
function Split({ items, name, chosen, children }: SplitProps) {
  const { t } = useTranslation();
  const [state, set] = useUrlState(FIELDS);
  const asked = state[name] !== "";
  return (
    <div className={classes.split} data-asked={asked || undefined}>
      <Panel flush>
        {items.length === 0 ? (
          <Empty title={t("rules.nothing")} />
        ) : (
          <nav className={classes.list} aria-label={t(`rules.view.${name === "rule" ? "rules" : "causes"}`)}>
            {items.map((one) => (
              <button
                key={one.id}
                type="button"
                className={cx(classes.item, one.id === chosen && classes.chosen)}
                aria-current={one.id === chosen || undefined}
                onClick={() => set({ [name]: one.id }, { push: true })}
              >
                <span>
                  {one.title}
                  {one.mark && <em className={classes.moved}>{t("rules.changed")}</em>}
                </span>
                <span className={classes.id}>{one.id}</span>
              </button>
            ))}
          </nav>
        )}
      </Panel>
      <div className={classes.detail}>
        <button type="button" className={classes.back} onClick={() => set({ [name]: "" })}>
          ← {t("rules.back")}
        </button>
        {children ?? (asked && <Empty title={t("rules.unknown", { id: state[name] })} />)}
      </div>
    </div>
  );
}
