import { ActionIcon, Button, Popover } from "@mantine/core";
import { Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
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
          <Grid label={label}>
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

/** Takes one row away, at the second click: the first opens what is meant in words. */
export function Drop({ label, onClick }: { label: string; onClick: () => void }) {
  const [asks, setAsks] = useState(false);
  const sure = () => {
    setAsks(false);
    onClick();
  };
  return (
    <Popover opened={asks} onChange={setAsks} position="left" trapFocus returnFocus withArrow>
      <Popover.Target>
        <ActionIcon size="sm" onClick={() => setAsks(!asks)} aria-label={label} title={label}>
          <Trash2 size={14} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown p={6}>
        <Button size="compact-sm" color="red" onClick={sure}>
          {label}
        </Button>
      </Popover.Dropdown>
    </Popover>
  );
}
