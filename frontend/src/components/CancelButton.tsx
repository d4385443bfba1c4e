import { Button } from "@mantine/core";
import { Square } from "lucide-react";
import type { ReactNode } from "react";

interface Props {
  /** Whether the request is in progress. */
  loading: boolean;
  onClick(): void;
  children: ReactNode;
}

/** Render a button that cancels runs on hosts. */
export function CancelButton({ loading, onClick, children }: Props) {
  return (
    <Button
      color="red"
      variant="outline"
      leftSection={<Square size={12} />}
      loading={loading}
      onClick={onClick}
    >
      {children}
    </Button>
  );
}
