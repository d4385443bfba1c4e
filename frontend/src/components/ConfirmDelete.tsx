import { ActionIcon, Button, Popover } from "@mantine/core";
import { Trash2 } from "lucide-react";
import { useState } from "react";

/** Takes one row away, at the second click: the first opens what is meant in words. */
export function ConfirmDelete({ label, onClick }: { label: string; onClick: () => void }) {
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
