import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { List } from "../../client/types";
import { Grid } from "../../components/Grid";
import { Loaded } from "../../components/States";

export interface Column<T> {
  head: ReactNode;
  cell: (row: T) => ReactNode;
  /** Of the cell; `right` also moves the head. */
  className?: string | undefined;
}

interface Props<T> {
  label: string;
  query: { data: List<T> | undefined; error: unknown; refetch: () => unknown };
  columns: readonly Column<T>[];
  /** What can be done with a row, at its right end. */
  act: (row: T) => ReactNode;
  /** Stands where the table would, when there are no rows. */
  none?: ReactNode;
}

/** The table of every list in the settings: skeleton, error, empty state, rows, and what can be done with each. */
export function Rows<T extends { id: string }>({ label, query, columns, act, none }: Props<T>) {
  const { t } = useTranslation();
  return (
    <Loaded query={query}>
      {({ items }) =>
        items.length === 0 && none ? (
          none
        ) : (
          <Grid stack label={label}>
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
                  <td className="right">{act(row)}</td>
                </tr>
              ))}
            </tbody>
          </Grid>
        )
      }
    </Loaded>
  );
}
