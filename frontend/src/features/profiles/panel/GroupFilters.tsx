import { Checkbox, Select } from "@mantine/core";
import { percent } from "../../../core/text/format";
import { useTranslation } from "../../../lib/text/useTranslation";
import { useUrlState } from "../../../lib/urlState";
import type { Facets } from "../api";
import { PROFILE_FIELDS } from "../filter";
import classes from "../Profile.module.css";

interface Props {
  facets: Facets | undefined;
  total: number;
}

/** Control group and softirqs; each appears only where the profile has it, or where it is set. */
export function GroupFilters({ facets, total }: Props) {
  const { t } = useTranslation();
  const [state, set] = useUrlState(PROFILE_FIELDS);
  const share = (weight: number) => percent(total > 0 ? weight / total : 0);
  const groups = (facets?.cgroups ?? []).map((item) => ({
    value: item.cgroup,
    label: `${item.cgroup} · ${share(item.weight)}`,
  }));
  if (state.cg && !groups.some((item) => item.value === state.cg))
    groups.unshift({ value: state.cg, label: state.cg });
  return (
    <>
      {groups.length > 0 && (
        <Select
          size="xs"
          className={classes.facet}
          aria-label={t("profile.cgroup")}
          placeholder={t("profile.cgroup")}
          data={groups}
          value={state.cg || null}
          onChange={(next) => set({ cg: next ?? "" })}
          clearable
          searchable
          comboboxProps={{ width: 360, position: "bottom-start" }}
        />
      )}
      {(state.softirq || (facets?.softirq ?? 0) > 0) && (
        <Checkbox
          size="xs"
          label={t("profile.softirqOnly", { share: share(facets?.softirq ?? 0) })}
          checked={state.softirq}
          onChange={(event) => set({ softirq: event.currentTarget.checked })}
        />
      )}
    </>
  );
}
