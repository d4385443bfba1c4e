import { Button, Checkbox, Popover, TextInput } from "@mantine/core";
import { ListFilter } from "lucide-react";
import { memo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Group, Row } from "../../core/lanes";
import classes from "./Timeline.module.css";

interface Props {
  groups: readonly Group[];
  shown: ReadonlySet<string>;
  title: (row: Row) => string;
  groupTitle: (id: string) => string;
  onChange: (shown: ReadonlySet<string>) => void;
  onReset: () => void;
}

/** Which lanes are drawn. */
export const LanePicker = memo(function LanePicker(props: Props) {
  const { groups, shown, title, groupTitle, onChange, onReset } = props;
  const { t } = useTranslation();
  const [q, setQ] = useState("");
  const needle = q.trim().toLowerCase();
  const total = groups.reduce((n, group) => n + group.rows.length, 0);
  const toggle = (key: string) => {
    const next = new Set(shown);
    if (!next.delete(key)) next.add(key);
    onChange(next);
  };
  return (
    <Popover position="bottom-end" width={380} withinPortal trapFocus>
      <Popover.Target>
        <Button variant="default" leftSection={<ListFilter size={14} />}>
          {t("timeline.lanes")} {shown.size}/{total}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <TextInput
          size="xs"
          mb="xs"
          placeholder={t("timeline.findLane")}
          aria-label={t("timeline.findLane")}
          value={q}
          onChange={(event) => setQ(event.currentTarget.value)}
        />
        <div className={classes.picker}>
          {groups.map((group) => {
            const rows = group.rows.filter(
              (row) =>
                !needle ||
                row.key.toLowerCase().includes(needle) ||
                title(row).toLowerCase().includes(needle),
            );
            if (rows.length === 0) return null;
            return (
              <div key={group.id} className={classes.pickerGroup}>
                <span className={classes.pickerTitle}>{groupTitle(group.id)}</span>
                {rows.map((row) => (
                  <Checkbox
                    key={row.key}
                    size="xs"
                    label={title(row)}
                    checked={shown.has(row.key)}
                    onChange={() => toggle(row.key)}
                  />
                ))}
              </div>
            );
          })}
        </div>
        <Button variant="subtle" mt="xs" onClick={onReset}>
          {t("timeline.resetLanes")}
        </Button>
      </Popover.Dropdown>
    </Popover>
  );
});
