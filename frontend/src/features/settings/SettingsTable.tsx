import type { ReactNode } from "react";
import type { ItemList } from "../../client/models";
import { QueryContent } from "../../components/EmptyState";
import { DataTable } from "../../components/tables/DataTable";
import { useTranslation } from "../../lib/text/useTranslation";

export interface Column<T> {
  head: ReactNode;
  cell: (row: T) => ReactNode;
  /** Class of the cells; `right` also aligns the heading. */
  className?: string | undefined;
}

interface Props<T> {
  label: string;
  query: { data: ItemList<T> | undefined; error: unknown; refetch: () => unknown };
  columns: readonly Column<T>[];
  /** Actions at the right end of a row. */
  renderActions: (row: T) => ReactNode;
  /** Replaces the table when there are no rows. */
  none?: ReactNode;
}

/** Table of a list in the settings, with skeleton, error, empty state, and actions per row. */
export function SettingsTable<T extends { id: string }>({
  label,
  query,
  columns,
  renderActions,
  none,
}: Props<T>) {
  const { t } = useTranslation();
  return (
    <QueryContent query={query}>
      {({ items }) =>
        items.length === 0 && none ? (
          none
        ) : (
          <DataTable stack label={label}>
            <thead>
              <tr>
                {columns.map(({ head, className }, i) => (
                  <th key={i} className={className?.includes("right") ? "right" : undefined}>
                    {head}
                  </th>
                ))}
                <th>
                  <span className="visually-hidden">{t("host.more")}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {items.map((row) => (
                <tr key={row.id}>
                  {columns.map(({ cell, className }, i) => (
                    <td key={i} className={className}>
                      {cell(row)}
                    </td>
                  ))}
                  <td className="right">{renderActions(row)}</td>
                </tr>
              ))}
            </tbody>
          </DataTable>
        )
      }
    </QueryContent>
  );
}
