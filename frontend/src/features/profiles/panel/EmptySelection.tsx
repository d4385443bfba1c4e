import { Button } from "@mantine/core";
import { EmptyState } from "../../../components/EmptyState";
import { useTranslation } from "../../../lib/text/useTranslation";
import { useUrlState } from "../../../lib/urlState";
import { type Filter, isFiltered, NO_FILTER, PROFILE_FIELDS } from "../filter";

/** Message for a selection without samples; its button clears the selected time and all filters. */
export function EmptySelection({ filter }: { filter: Filter }) {
  const { t } = useTranslation();
  const [, set] = useUrlState(PROFILE_FIELDS);
  if (!isFiltered(filter)) return <EmptyState title={t("profile.nothing")} />;
  return (
    <EmptyState
      title={t("profile.nothing")}
      action={
        <Button variant="default" onClick={() => set(NO_FILTER, { push: true })}>
          {t("profile.clearFilters")}
        </Button>
      }
    >
      {t("profile.nothingText")}
    </EmptyState>
  );
}
