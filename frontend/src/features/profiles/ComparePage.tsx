import { Button, Select } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { ArrowLeftRight } from "lucide-react";
import type { Profile } from "../../client/models";
import { ErrorLine, QueryContent } from "../../components/EmptyState";
import { Page, Panel } from "../../components/Page";
import { cx } from "../../core/cx";
import type { Search } from "../../core/search";
import { formatCount, formatDuration, formatPercent } from "../../core/text/format";
import { spanOf } from "../../core/time/range";
import { useProfiles } from "../../lib/queries";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import { useUrlState } from "../../lib/urlState";
import { useCreateComparison, useFacets } from "./api";
import {
  type ComparisonSide,
  type FilterChoice,
  listProcessChoices,
  listThreadChoices,
  readSide,
  SIDE_FIELDS,
  toSideFilter,
  toSidePatch,
} from "./comparison/sides";
import classes from "./Profile.module.css";

/** Form of a comparison: profile, process and thread of A (before, or good) and B (after, or bad). */
export function ComparePage() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as Search;
  const [state, set] = useUrlState(SIDE_FIELDS);
  const profiles = useProfiles({});
  const diff = useCreateComparison();
  const sides = { a: readSide(state, "a"), b: readSide(state, "b") };
  const start = () =>
    diff.mutate(
      {
        a: { profile_id: state.ap, filter: toSideFilter(sides.a, "a", search) },
        b: { profile_id: state.bp, filter: toSideFilter(sides.b, "b", search) },
      },
      {
        onSuccess: (comparison) =>
          void navigate({ to: "/comparisons/$diffId", params: { diffId: comparison.id } }),
      },
    );
  return (
    <Page title={t("compare.title")} width="text">
      <Panel title={t("compare.what")} flush>
        <QueryContent query={profiles}>
          {(all) => {
            const ready = all.filter((p) => p.state === "ready" && p.kind !== "sched");
            return (
              <div className={cx(classes.columns, classes.pad)}>
                {(["a", "b"] as const).map((name) => (
                  <SideFields
                    key={name}
                    label={t(`compare.${name}`)}
                    hint={t(`compare.${name}Hint`)}
                    profiles={ready}
                    side={sides[name]}
                    fallback={search.comm}
                    onChange={(change) => set(toSidePatch(name, change))}
                  />
                ))}
              </div>
            );
          }}
        </QueryContent>
        <div className={classes.bar}>
          <Button
            variant="default"
            leftSection={<ArrowLeftRight size={14} />}
            onClick={() => set({ ...toSidePatch("a", sides.b), ...toSidePatch("b", sides.a) })}
          >
            {t("compare.swap")}
          </Button>
          <span className={classes.spacer} />
          <Button disabled={!state.ap || !state.bp} loading={diff.isPending} onClick={start}>
            {t("compare.start")}
          </Button>
        </div>
        {diff.error && (
          <div className={classes.pad}>
            <ErrorLine error={diff.error} />
          </div>
        )}
      </Panel>
    </Page>
  );
}

interface SideProps {
  label: string;
  hint: string;
  profiles: readonly Profile[];
  side: ComparisonSide;
  /** Process name in the filter of the profile page. */
  fallback: string | undefined;
  onChange(change: Partial<ComparisonSide>): void;
}

function SideFields({ label, hint, profiles, side, fallback, onChange }: SideProps) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const range = { from_ns: side.range?.from, to_ns: side.range?.to };
  const facets = useFacets(side.profile, range, side.profile !== "").data;
  const total = facets?.processes.reduce((sum, { weight }) => sum + weight, 0) ?? 0;
  const process = side.process || fallback || "";
  const data = profiles.map((p) => ({
    value: p.id,
    label: `${p.host?.name ?? p.label ?? t("profile.imported")} · ${time.instant(p.t0_ns)} · ${t(`profile.kind.${p.kind}` as "profile.kind.on_cpu", { defaultValue: p.kind })} · ${formatCount(p.samples ?? 0)} ${t("profile.samples")}`,
  }));
  return (
    <div className={classes.stack}>
      <Select
        label={label}
        description={
          side.range === undefined ? hint : t("compare.range", { span: formatDuration(spanOf(side.range)) })
        }
        data={data}
        value={side.profile || null}
        onChange={(id) => id && onChange({ profile: id, range: undefined, process: "", thread: "" })}
        searchable
        nothingFoundMessage={t("profile.none")}
        placeholder={t("compare.choose")}
      />
      {side.profile && (
        <>
          <FilterSelect
            label={t("compare.process")}
            empty={t("compare.anyProcess")}
            value={process}
            choices={listProcessChoices(facets)}
            total={total}
            onChange={(value) => onChange({ process: value, thread: "" })}
          />
          <FilterSelect
            label={t("compare.thread")}
            empty={t("compare.anyThread")}
            value={side.thread}
            choices={listThreadChoices(facets, process)}
            total={total}
            onChange={(value) => onChange({ thread: value })}
          />
        </>
      )}
    </div>
  );
}

interface FilterSelectProps {
  label: string;
  empty: string;
  value: string;
  choices: readonly FilterChoice[];
  total: number;
  onChange(value: string): void;
}

const MAX_CHOICES = 500;

function FilterSelect({ label, empty, value, choices, total, onChange }: FilterSelectProps) {
  const data = choices.slice(0, MAX_CHOICES).map((choice) => ({
    value: choice.value,
    label: `${choice.label} · ${formatPercent(total > 0 ? choice.weight / total : 0)}`,
  }));
  if (value && !data.some((item) => item.value === value))
    data.unshift({ value, label: value.replace(/^(name|tid):/, "") });
  return (
    <Select
      size="xs"
      label={label}
      placeholder={empty}
      data={data}
      value={value || null}
      onChange={(next) => onChange(next ?? "")}
      clearable
      searchable
    />
  );
}
