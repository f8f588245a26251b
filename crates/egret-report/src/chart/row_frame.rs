use crate::chart::{
    Axis,
    axis::Span,
    heading::{Key, MARGIN, NARROW, SIZE, SMALL, WIDER, WIDTH, heading, label, legend, tick_label},
};
use crate::drawing::{
    Anchor, At, Drawing, Ink, Picture,
    font::{self, Weight},
};

/// What a chart of rows says around its marks.
pub(crate) struct RowFrame<'a> {
    pub title: &'a str,
    pub subtitle: &'a str,
    pub axis: &'a Axis,
    pub span: Span,
    /// A line across all rows.
    pub reference: Option<f64>,
    /// What the left and the right end of the axis mean.
    pub sides: Option<(&'a str, &'a str)>,
    /// Label and note of each row.
    pub rows: Vec<(&'a str, &'a str)>,
    /// How many marks lie one below the other in a row, at most.
    pub lanes: usize,
    pub legend: Vec<Key<'a>>,
}

/// The frame as drawn, for marks to be put into.
pub(crate) struct Rows {
    pub drawing: Drawing,
    span: Span,
    left: f64,
    right: f64,
    top: f64,
    height: f64,
    /// Of each row's height, what its label takes.
    above_marks: f64,
    bottom: f64,
}

/// How high a mark is with the white around it.
pub(crate) const LANE: f64 = 12.0;

impl RowFrame<'_> {
    /// Everything, where `marks` draws what lies in the rows.
    pub(crate) fn picture(&self, marks: impl Fn(&mut Rows)) -> Picture {
        let [wide, narrow] = [WIDTH, NARROW].map(|width| {
            let mut rows = self.drawn(width);
            marks(&mut rows);
            rows
        });
        let height = narrow.bottom + MARGIN;
        wide.drawing
            .picture(wide.bottom + MARGIN, (&narrow.drawing, height))
    }

    /// Everything but the marks.
    fn drawn(&self, width: f64) -> Rows {
        let mut drawing = Drawing::new(self.title, width);
        let mut top = heading(&mut drawing, self.title, self.subtitle);
        top = legend(&mut drawing, top, &self.legend);

        let widest =
            |of: &dyn Fn(&(&str, &str)) -> f64| self.rows.iter().map(of).fold(0.0_f64, f64::max);
        let wide = |text: &str| WIDER * font::width(text, SIZE, Weight::Regular);
        // On a narrow screen label and note stand above the marks of their row.
        let above_marks = if width < WIDTH { 20.0 } else { 0.0 };
        let beside = above_marks == 0.0;
        let labels = widest(&|row| wide(row.0)).min(0.36 * width);
        // The marks keep a third of the width.
        let most = if beside {
            0.64 * width - labels
        } else {
            0.45 * width
        };
        let notes = widest(&|row| wide(row.1)).min(most);
        let left = MARGIN + if beside { labels + 12.0 } else { 6.0 };
        let right = width
            - MARGIN
            - if beside && notes != 0.0 {
                notes + 16.0
            } else {
                8.0
            };

        let height =
            above_marks + LANE * self.lanes as f64 + if self.lanes == 1 { 12.0 } else { 10.0 };
        let all = height * self.rows.len() as f64;
        // Far from the axis, numbers are wanted above too.
        let twice = 420.0 < all;
        top += if twice { 24.0 } else { 8.0 };
        let bottom = top + all;

        for (place, (name, note)) in self.rows.iter().enumerate() {
            let above = top + height * place as f64;
            if place % 2 == 0 {
                let corners = ((MARGIN, above), (width - MARGIN, above + height));
                drawing.rectangle(corners.0, corners.1, Ink::STRIPE);
            }
            let fitted =
                |text: &str, room: f64| font::fitted(text, SIZE, Weight::Regular, room / WIDER);
            if beside {
                let middle = above + 0.5 * height;
                let name = fitted(name, labels);
                drawing.text_beside((left - 12.0, middle), label(name, Anchor::End));
                let note = fitted(note, notes);
                drawing.text_beside((right + 12.0, middle), label(note, Anchor::Start));
            } else {
                let middle = above + 0.6 * above_marks;
                let name = fitted(name, width - 2.0 * MARGIN - notes - 24.0);
                drawing.text_beside((left, middle), label(name, Anchor::Start));
                drawing.text_beside((right, middle), label(fitted(note, notes), Anchor::End));
            }
        }

        let x = |share: f64| left + share * (right - left);
        // Through the marks of each row, and not through the words above them.
        let across = |drawing: &mut Drawing, x: f64, ink: Ink, width: f64| {
            if beside {
                drawing.line(vec![(x, top), (x, bottom)], ink, width, &[]);
                return;
            }
            for place in 0..self.rows.len() {
                let above = top + height * place as f64;
                let ends = vec![(x, above + above_marks), (x, above + height)];
                drawing.line(ends, ink, width, &[]);
            }
        };
        for tick in self.span.ticks_across(right - left, SMALL) {
            let x = x(tick.at);
            across(&mut drawing, x, Ink::GRID, 1.0);
            drawing.line(vec![(x, bottom), (x, bottom + 5.0)], Ink::AXIS, 1.0, &[]);
            if twice {
                let above = tick_label(tick.label.clone(), Anchor::Middle);
                drawing.text_beside((x, top - 10.0), above);
            }
            drawing.text_beside((x, bottom + 15.0), tick_label(tick.label, Anchor::Middle));
        }
        if let Some(reference) = self.reference {
            let share = self.span.share(reference);
            if (0.0..=1.0).contains(&share) {
                across(&mut drawing, x(share), Ink::AXIS, 1.6);
            }
        }
        drawing.line(vec![(left, bottom), (right, bottom)], Ink::AXIS, 1.0, &[]);
        let end = self.below(&mut drawing, (left, right), bottom + 26.0);
        Rows {
            drawing,
            span: self.span,
            left,
            right,
            top,
            height,
            above_marks,
            bottom: end,
        }
    }

    /// The label of the axis and what its sides mean, in one line if there is room; returns where they end.
    fn below(&self, drawing: &mut Drawing, (left, right): (f64, f64), top: f64) -> f64 {
        const LINE: f64 = 18.0;
        let wide = |text: &str| WIDER * font::width(text, SIZE, Weight::Regular);
        let lines = font::wrapped(&self.axis.label, SIZE, Weight::Regular, 0.8 * drawing.width);
        let mut y = top + 8.0;
        if let Some((less, more)) = self.sides {
            let (less, more) = (format!("← {less}"), format!("{more} →"));
            let outer = wide(&less).max(wide(&more));
            let beside = |inner: f64| 2.0 * outer + inner + 48.0 <= right - left;
            let alone = !matches!(lines.as_slice(), [line] if beside(wide(line)));
            drawing.text_beside((left, y), label(less, Anchor::Start));
            drawing.text_beside((right, y), label(more, Anchor::End));
            if alone {
                y += LINE;
            }
        }
        for line in lines {
            // Under the axis, unless it is too long for that.
            let half = 0.5 * wide(&line);
            let middle = (0.5 * (left + right)).min(drawing.width - MARGIN - half);
            drawing.text_beside((middle, y), label(line, Anchor::Middle));
            y += LINE;
        }
        y - 0.5 * LINE
    }
}

impl Rows {
    /// Where a value lies, and whether it had to be moved to an end of the axis: −1 to the low one, 1 to the high one.
    pub(crate) fn x(&self, value: f64) -> (f64, f64) {
        let share = self.span.share(value);
        let beyond = if share < -1e-9 {
            -1.0
        } else if 1.0 + 1e-9 < share {
            1.0
        } else {
            0.0
        };
        let x = self.left + share.clamp(0.0, 1.0) * (self.right - self.left);
        (x, beyond)
    }

    /// The middle of one of the lanes that a row has marks in: they lie around its middle.
    pub(crate) fn y(&self, row: usize, lane: usize, lanes: usize) -> f64 {
        let middle = self.top + self.height * (row as f64 + 0.5) + 0.5 * self.above_marks;
        middle + LANE * (lane as f64 - 0.5 * (lanes as f64 - 1.0))
    }

    /// Says that something goes on beyond an end of the axis.
    pub(crate) fn arrow(&mut self, (x, y): At, beyond: f64, ink: Ink) {
        let tip = x + 6.0 * beyond;
        self.drawing
            .area(vec![(tip, y), (x, y - 4.5), (x, y + 4.5)], ink);
    }
}
