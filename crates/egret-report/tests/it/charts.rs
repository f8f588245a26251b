use std::sync::LazyLock;

use egret_report::{
    Axis, Colour, ConfidenceInterval, IntervalChart, IntervalRow, Line, LineChart, LinePanels,
    Picture, Quantiles, ScatterChart, ScatterSeries, Series, SpreadChart, SpreadRow,
};
use tiny_skia::Pixmap;

use crate::svg::texts;

const EVIL: &str = "<script>alert('\"')</script>";

fn names(count: usize) -> Vec<String> {
    let mut names: Vec<String> = (1..count)
        .map(|place| format!("a_data_set_with_a_long_name_no_{place:05}"))
        .collect();
    assert!(names.iter().all(|name| name.len() == 36));
    names.push(EVIL.to_owned());
    names
}

pub fn intervals(rows: usize, series: usize) -> IntervalChart {
    IntervalChart {
        title: "Differences & more".to_owned(),
        subtitle: "90% intervals".to_owned(),
        axis: Axis::linear("difference of mean loss"),
        reference: Some(0.0),
        sides: Some(("the one is better".to_owned(), "the other".to_owned())),
        series: Series::in_order((0..series).map(|place| format!("κ∞ = {place}"))),
        rows: names(rows)
            .into_iter()
            .enumerate()
            .map(|(row, label)| {
                let interval = |place: usize| ConfidenceInterval {
                    low: 0.01 * (row + place) as f64 - 0.1,
                    point: 0.01 * (row + place) as f64 - 0.08,
                    high: 0.01 * (row + place) as f64 - 0.05,
                };
                IntervalRow {
                    label,
                    values: (0..series).map(|place| Some(interval(place))).collect(),
                    note: "win".to_owned(),
                }
            })
            .collect(),
    }
}

pub fn spread(rows: usize, series: usize) -> SpreadChart {
    SpreadChart {
        title: "Draws & more".to_owned(),
        subtitle: String::new(),
        axis: Axis::log("draws"),
        reference: Some(10.0),
        series: Series::in_order((0..series).map(|place| format!("τ = {place}"))),
        rows: names(rows)
            .into_iter()
            .enumerate()
            .map(|(row, label)| SpreadRow {
                label,
                values: (1..=series)
                    .map(|place| (row * place + 1) as f64)
                    .map(|middle| Some(Quantiles([0.5, 0.8, 1.0, 2.0, 9.0].map(|by| by * middle))))
                    .collect(),
            })
            .collect(),
    }
}

pub fn lines(count: usize, x: Axis, y: Axis) -> LineChart {
    LineChart {
        title: "Losses & more".to_owned(),
        subtitle: "with bands".to_owned(),
        x,
        y,
        lines: names(count)
            .into_iter()
            .enumerate()
            .map(|(place, name)| {
                let points: Vec<(f64, f64)> = (1..=50)
                    .map(|x| {
                        (
                            f64::from(x * x),
                            0.2 + (1 + place) as f64 / f64::from(50 * x),
                        )
                    })
                    .collect();
                Line {
                    name,
                    colour: Colour::nth(place),
                    band: points.iter().map(|&(_, y)| (0.9 * y, 1.1 * y)).collect(),
                    points,
                }
            })
            .collect(),
        reference: Some((0.25, "a level".to_owned())),
    }
}

/// Panels of lines with short names.
pub fn panels(count: usize, of: usize) -> LinePanels {
    let panel = |title: String| {
        let mut panel = lines(of, Axis::linear("x"), Axis::linear("y"));
        panel.title = title;
        for (place, line) in panel.lines.iter_mut().enumerate() {
            line.name = format!("learner_{place}");
        }
        panel
    };
    LinePanels {
        title: "Panels & more".to_owned(),
        subtitle: "side by side".to_owned(),
        panels: names(count).into_iter().map(panel).collect(),
    }
}

pub fn points(series: usize, x: Axis) -> ScatterChart {
    ScatterChart {
        title: "Points & more".to_owned(),
        subtitle: String::new(),
        x,
        y: Axis::linear("share"),
        series: names(series)
            .into_iter()
            .enumerate()
            .map(|(place, name)| ScatterSeries {
                name,
                colour: Colour::nth(place),
                points: (1..20)
                    .map(|n| (f64::from(n), f64::from(n) * place as f64 - 3.0))
                    .collect(),
            })
            .collect(),
    }
}

/// Pictures, with words that are in them.
static ALL: LazyLock<Vec<(Picture, Vec<String>)>> = LazyLock::new(all);

fn all() -> Vec<(Picture, Vec<String>)> {
    let (linear, log) = (|| Axis::linear("linear"), || Axis::log("logarithmic"));
    let mut all = Vec::new();
    for (rows, series) in [(1, 1), (15, 4), (20, 1), (20, 3)] {
        let picture = intervals(rows, series).draw().expect("a picture");
        let mut words = names(rows);
        words.extend(
            [
                "difference of mean loss",
                "← the one is better",
                "the other →",
                "win",
            ]
            .map(String::from),
        );
        all.push((picture, words));
        let picture = spread(rows, series).draw().expect("a picture");
        all.push((picture, names(rows)));
    }
    for (count, x, y) in [
        (1, linear(), linear()),
        (4, log(), linear()),
        (20, linear(), log()),
        (30, log(), log()),
    ] {
        let picture = lines(count, x, y).draw().expect("a picture");
        let mut words = names(count);
        words.push("a level".to_owned());
        all.push((picture, words));
    }
    for (count, of) in [(1, 1), (14, 5), (44, 6)] {
        let picture = panels(count, of).draw().expect("a picture");
        let mut words = names(count);
        words.extend((0..of).map(|place| format!("learner_{place}")));
        all.push((picture, words));
    }
    for (series, x) in [(1, linear()), (5, log())] {
        let picture = points(series, x).draw().expect("a picture");
        let mut words = names(series);
        words.push("share".to_owned());
        all.push((picture, words));
    }
    all
}

#[test]
fn every_label_is_there_whole_and_none_touches_another_or_the_edge() {
    for (picture, words) in &*ALL {
        let texts = texts(&picture.svg);
        for word in words {
            assert!(texts.iter().any(|text| text.words == *word), "no {word}");
        }
        let (width, height) = (f64::from(picture.size.0), f64::from(picture.size.1));
        for (place, text) in texts.iter().enumerate() {
            let [left, top, right, bottom] = text.around;
            let inside = 0.0 <= left && 0.0 <= top && right <= width && bottom <= height;
            assert!(inside, "{text:?} leaves the picture");
            for other in &texts[..place] {
                assert!(!text.overlaps(other), "{text:?} lies on {other:?}");
            }
        }
    }
}

#[test]
fn no_name_becomes_a_tag() {
    for (picture, _) in &*ALL {
        assert!(!picture.svg.contains("<script"));
        assert!(
            picture
                .svg
                .contains("&lt;script&gt;alert(&#39;&quot;&#39;)&lt;/script&gt;")
        );
        assert_eq!(
            picture.svg.matches('<').count(),
            picture.svg.matches('>').count()
        );
        assert_eq!(
            picture.svg.matches("&").count(),
            picture.svg.matches(';').count()
        );
    }
}

#[test]
fn a_png_has_the_stated_size_and_shows_every_colour() {
    for (picture, _) in &*ALL {
        let pixels = Pixmap::decode_png(&picture.png).expect("a picture");
        let (width, height) = picture.size;
        let size = (Picture::SCALE * width, Picture::SCALE * height);
        assert_eq!((pixels.width(), pixels.height()), size);
        assert!(pixels.pixels().iter().all(|pixel| pixel.alpha() == 255));
        for colour in [Colour::Blue, Colour::Vermilion, Colour::Green] {
            let (red, green, blue) = colour.rgb();
            let hex = format!("=\"#{red:02x}{green:02x}{blue:02x}\"");
            let drawn = pixels
                .pixels()
                .iter()
                .any(|pixel| (pixel.red(), pixel.green(), pixel.blue()) == (red, green, blue));
            assert_eq!(drawn, picture.svg.contains(&hex), "{colour:?}");
        }
    }
}

#[test]
fn the_same_chart_gives_the_same_bytes() {
    assert!(*ALL == all());
}

#[test]
fn what_lies_beyond_the_axis_is_cut_and_marked() {
    let mut chart = intervals(1, 1);
    chart.rows[0].values[0] = Some(ConfidenceInterval {
        low: -9.0,
        point: 0.5,
        high: 9.0,
    });
    let arrows = |chart: &IntervalChart| {
        let svg = chart.draw().expect("a picture").svg;
        let corners = |line: &&str| line.starts_with("<polygon") && line.matches(',').count() == 3;
        svg.lines().filter(corners).count()
    };
    assert_eq!(arrows(&chart), 0);
    chart.axis = chart.axis.within(-1.0, 1.0);
    assert_eq!(arrows(&chart), 2);
}

#[test]
fn what_was_not_measured_is_left_out() {
    let mut chart = intervals(8, 2);
    let count = |chart: &IntervalChart| {
        chart
            .draw()
            .expect("a picture")
            .svg
            .matches("<circle")
            .count()
    };
    let before = count(&chart);
    chart.reference = None;
    let without_hollow = count(&chart);
    assert!(without_hollow < before);
    chart.rows[1].values[0] = None;
    assert_eq!(count(&chart), without_hollow - 1);
}

#[test]
fn the_only_interval_of_a_row_lies_in_its_middle() {
    let middles = |chart: &IntervalChart| -> Vec<f64> {
        let svg = chart.draw().expect("a picture").svg;
        let circles = svg.split("<circle").skip(1);
        let heights = circles.filter_map(|circle| circle.split("cy=\"").nth(1)?.split('"').next());
        let heights: Result<Vec<f64>, _> = heights.map(str::parse).collect();
        heights.expect("numbers")
    };
    let mut two = intervals(2, 2);
    two.reference = None;
    let one = {
        let mut chart = two.clone();
        chart.rows[1].values[1] = None;
        middles(&chart)
    };
    let both = middles(&two);
    assert_eq!(one.len(), both.len());
    let moved: Vec<f64> = one
        .iter()
        .zip(&both)
        .map(|(one, both)| one - both)
        .collect();
    // By half a lane, and no other.
    assert_eq!(moved, [0.0, 0.0, 6.0]);
}

#[test]
fn both_files_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let picture = intervals(2, 1).draw().expect("a picture");
    picture.write(folder.path(), "chart").expect("written");
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("there");
    assert_eq!(read("chart.svg"), picture.svg.as_bytes());
    assert_eq!(read("chart.png"), picture.png);
    let error = picture
        .write(&folder.path().join("no"), "chart")
        .expect_err("no folder");
    assert!(error.to_string().contains("chart.svg"), "{error}");
}
